"""`/v1/chat/completions` where clients and servers leave: every stream says how it ended, nothing is left."""

from __future__ import annotations

import json
import signal
import threading

import pytest

from synth.chat.publishing import Publisher, courier
from synth.models import Dialogue, IdempotentAnswer, Message, TurnState
from synth.services import dialogues, turn_ends
from synth.tests.streams.served import eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
URL = "/v1/chat/completions"
HI = {"model": "synth/wren", "messages": [{"role": "user", "content": "Hello?"}]}


def placed():
    """The answer that the client's request made a place for."""
    rows = Message.objects.filter(role="assistant", status="streaming")
    assert eventually(rows.exists)
    return rows.get()


def write(answer, *words, is_whole=True):
    """What a worker would tell of it."""
    voice = Publisher(answer.pk)
    voice.start(dialogue=str(answer.dialogue_id), parent=answer.parent_id, agent="wren", at=answer.at)
    for word in words:
        voice.tell("delta", text=word)
    if is_whole:
        Message.objects.filter(pk=answer.pk).update(
            content="".join(words), status="complete", lease_until=None
        )
        answer.refresh_from_db()
        turn_ends.tell(voice, answer)
    courier().flush(5)


def chunks_of(raw):
    lines = [line[6:] for line in raw.decode().split("\n\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"], lines.count("[DONE]")


def test_a_server_that_leaves_says_that_the_answer_is_not_whole(own_web, agent, bearer):
    with own_web.open("POST", URL, {**HI, "stream": True}, **bearer) as client:
        write(placed(), "Half ", is_whole=False)
        pieces = client.body()
        seen = b""
        while b"Half" not in seen:
            seen += next(pieces)
        threading.Thread(target=own_web.kill, args=(signal.SIGTERM,)).start()
        seen += b"".join(pieces)
        assert client.ended, "the body has its regular end"
    found, n_done = chunks_of(seen)
    assert found[-1]["error"]["code"] == "unavailable" and n_done == 1
    assert not any(choice["finish_reason"] for chunk in found[:-1] for choice in chunk["choices"])
    assert placed() is not None, "the turn goes on without its viewer"


def test_one_who_waits_for_the_whole_hears_503_with_the_reason(own_web, agent, bearer):
    client = own_web.open("POST", URL, HI, **bearer)
    placed()
    assert eventually(lambda: own_web.n_open() == 1)
    end = threading.Thread(target=own_web.kill, args=(signal.SIGTERM,))
    end.start()
    with client:
        error = json.loads(client.rest())["error"]
    assert (client.status, error["type"], error["code"]) == (503, "server_error", "unavailable")
    assert "retry-after" in client.headers
    end.join()


@pytest.mark.parametrize("is_stream", [False, True])
def test_clients_of_http_1_0_get_a_plain_body(web, agent, bearer, is_stream):
    client = web.open("POST", URL, {**HI, "stream": is_stream}, version="1.0", **bearer)
    write(placed(), "Hello ", "you.")
    with client:
        assert client.status == 200 and "transfer-encoding" not in client.headers
        raw = client.rest()
    if not is_stream:
        assert json.loads(raw)["choices"][0]["message"]["content"] == "Hello you."
        return
    found, n_done = chunks_of(raw)
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in found) == "Hello you."
    assert n_done == 1


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_client_that_leaves_before_the_first_byte_leaves_nothing_running(web, agent, bearer, is_stream):
    client = web.open("POST", URL, {**HI, "stream": is_stream}, **bearer)
    answer = placed()
    client.connection.close()
    assert eventually(lambda: not TurnState.objects.filter(pk=answer.pk).exists())
    answer.refresh_from_db()
    assert (answer.status, answer.metadata["reason"]) == ("cancelled", "client_gone")
    assert eventually(lambda: web.n_open() == 0)


def test_a_body_that_never_comes_whole_is_not_acted_on(web, agent, bearer):
    raw = json.dumps(HI).encode()
    client = web.open("POST", URL, raw[:20], **{**bearer, "Content_Length": str(len(raw))})
    client.connection.close()
    assert eventually(lambda: web.n_open() == 0)
    assert not Message.objects.exists()


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_request_sent_again_under_its_key_is_answered_once(web, agent, bearer, is_stream):
    request = {**HI, "stream": is_stream}
    told: list[tuple[int, bytes]] = []
    for _ in range(2):
        client = web.open("POST", URL, request, Idempotency_Key="k1", **bearer)
        if not told:
            write(placed(), "Hello ", "you.")
        with client:
            told.append((client.status, client.rest()))
    assert told[0] == told[1] and told[0][0] == 200
    assert (Dialogue.objects.count(), Message.objects.count()) == (1, 2)
    other = {**request, "messages": [{"role": "user", "content": "Bye."}]}
    status, _, raw = web.ask("POST", URL, other, Idempotency_Key="k1", **bearer)
    assert (status, json.loads(raw)["error"]["code"]) == (422, "idempotency_key_reused")


def test_a_request_that_failed_is_tried_again_under_its_key(web, agent, bearer):
    client = web.open("POST", URL, HI, Idempotency_Key="k1", **bearer)
    answer = placed()
    turn_ends.fail(answer, "", {"reason": "llm_unreachable"})
    turn_ends.tell(Publisher(answer.pk), answer)
    with client:
        assert client.status == 503
    again = web.open("POST", URL, HI, Idempotency_Key="k1", **bearer)
    write(placed(), "Hello.")
    with again:
        assert json.loads(again.rest())["choices"][0]["message"]["content"] == "Hello."


def test_of_a_deleted_dialogue_nothing_is_kept_under_the_key(web, agent, bearer):
    client = web.open("POST", URL, HI, Idempotency_Key="k1", **bearer)
    write(placed(), "Hello.")
    with client:
        assert client.status == 200
    dialogues.delete(Dialogue.objects.get())
    assert not IdempotentAnswer.objects.exists()
