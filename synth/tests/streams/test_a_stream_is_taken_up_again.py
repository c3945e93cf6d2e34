"""A client that was cut off says what it has, and gets the rest: nothing twice, nothing lost, one end."""

from __future__ import annotations

import signal
import threading

import pytest

from synth import liveness
from synth.chat import events
from synth.models import Message
from synth.services import keys, people
from synth.tests.streams.served import Sse, eventually

pytestmark = pytest.mark.slow


def numbers(told):
    return [int(event.id) % 1_000_000 for event in told]


@pytest.fixture
def ten(begin):
    """An answer with ten events so far."""
    answer = begin()
    answer.start()
    for n in range(9):
        answer.say(f"word{n} ")
    answer.flush()
    return answer


@pytest.mark.parametrize("how", ["header", "since", "both"])
def test_only_what_is_missing_comes(web, ten, bearer, how):
    given = {} if how == "since" else {"Last-Event-ID": str(events.sse_id(ten.id, 4))}
    older = events.sse_id(ten.id, 2 if how == "both" else 4)
    path = ten.path if how == "header" else f"{ten.path}&since={older}"
    ten.end()
    with web.open("GET", path, **given, **bearer) as client:
        assert numbers(client.events()) == list(range(5, 12))


@pytest.mark.parametrize("given", ["garbage", "-1", "1e9", "９", "99999999999999999999999", "\xff", "5"])
def test_an_id_of_something_else_counts_as_none(web, ten, bearer, given):
    ten.end()
    with web.open("GET", ten.path, **{"Last-Event-ID": given}, **bearer) as client:
        assert numbers(client.events()) == list(range(1, 12))


def test_since_must_be_a_number_and_the_message_too(web, ten, bearer):
    for path in (f"{ten.path}&since=x", "/api/chat/stream", "/api/chat/stream?message=", f"{ten.path}9" * 9):
        status, _, body = web.get(path, **bearer)
        assert status == 400 and b'"field"' in body, path


def test_a_number_ahead_of_the_answer_begins_anew(web, ten, bearer):
    ten.end()
    for n in (500, 999_997):
        with web.open("GET", ten.path, Last_Event_ID=str(events.sse_id(ten.id, n)), **bearer) as client:
            told = list(client.events())
        assert [event.event for event in told] == ["resync", "message.end"]
        assert told[0].json["content"] == ten.text


def test_a_number_ahead_of_a_running_answer_begins_anew(web, ten, bearer):
    with web.open("GET", ten.path, Last_Event_ID=str(events.sse_id(ten.id, 500)), **bearer) as client:
        blocks = client.events()
        assert next(blocks).json == {"message_id": ten.id, "content": "", "n": 0}
        ten.end()
        assert numbers(blocks) == list(range(1, 12))


def test_whoever_has_the_end_is_told_not_to_come_back(web, ten, bearer):
    ten.end()
    for n in (11, 999_999):
        status, headers, body = web.get(ten.path, Last_Event_ID=str(events.sse_id(ten.id, n)), **bearer)
        assert (status, body) == (204, b"") and "content-type" not in headers


def test_words_told_after_the_end_bring_nobody_back(web, ten, bearer):
    ten.end()
    ten.say("late ")
    ten.flush()
    status, _, body = web.get(ten.path, Last_Event_ID=str(events.sse_id(ten.id, 11)), **bearer)
    assert (status, body) == (204, b"")
    with web.open("GET", ten.path, **bearer) as client:
        assert numbers(client.events()) == list(range(1, 12))


def test_answers_of_others_are_404(web, ten):
    other = keys.issue(people.ensure("otto"), role="person").plain
    operator = keys.issue(
        people.make_operator(people.ensure("olga"), by=None, door="command"), role="operator"
    )
    for plain in (other, operator.plain):
        status, _, body = web.get(ten.path, Authorization=f"Bearer {plain}")
        assert status == 404 and b"message_not_found" in body
    said = Message.objects.get(pk=ten.row.parent_id)
    assert said.author is not None
    own = {"Authorization": f"Bearer {keys.issue(said.author, role='person').plain}"}
    assert web.get(f"/api/chat/stream?message={said.pk}", **own)[0] == 404
    assert web.get("/api/chat/stream?message=9223372036854775807", **own)[0] == 404


def test_posting_with_an_id_goes_on_and_says_nothing(web, ten, bearer):
    body = {"dialogue": str(ten.row.dialogue_id), "content": "Hello?"}
    n_messages = Message.objects.count()
    ten.end()
    last = str(events.sse_id(ten.id, 8))
    with web.open("POST", "/api/chat/stream", body, Last_Event_ID=last, **bearer) as client:
        assert numbers(client.events()) == [9, 10, 11]
    answers = {}
    for given in ("x", str(events.sse_id(ten.id + 10_000, 3)), str(events.sse_id(ten.row.parent_id, 3))):
        status, _, raw = web.ask("POST", "/api/chat/stream", body, Last_Event_ID=given, **bearer)
        answers[given] = (status, b"Last-Event-ID" in raw)
    assert list(answers.values()) == [(400, True), (404, False), (404, False)]
    assert Message.objects.count() == n_messages


def test_an_answer_of_another_dialogue_is_404(web, ten, begin, bearer):
    other = begin()
    body = {"dialogue": str(other.row.dialogue_id), "content": "Hello?"}
    last = str(events.sse_id(ten.id, 8))
    status, _, raw = web.ask("POST", "/api/chat/stream", body, Last_Event_ID=last, **bearer)
    assert status == 404 and b"message_not_found" in raw


def test_what_redis_lost_is_told_as_the_words_so_far(web, ten, bearer):
    ten.save(metadata={"n_events": 10})
    liveness.client().xtrim(events.stream_key(ten.id), maxlen=1, approximate=False)
    with web.open("GET", ten.path, Last_Event_ID=str(events.sse_id(ten.id, 4)), **bearer) as client:
        told = client.events()
        first = next(told)
        assert first.event == "resync" and first.json == {"message_id": ten.id, "content": ten.text, "n": 10}
        before = ten.text
        ten.say("more")
        ten.end()
        rest = list(told)
    assert numbers(rest) == [11, 12] and before + rest[0].json["text"] == ten.text


def test_words_saved_too_early_are_waited_for(web, ten, bearer):
    ten.save(metadata={"n_events": 3})
    liveness.client().delete(events.stream_key(ten.id))
    ten.say("eleven ")
    ten.flush()
    with web.open("GET", ten.path, Last_Event_ID=str(events.sse_id(ten.id, 4)), **bearer) as client:
        told = client.events()
        assert eventually(lambda: web.n_open() == 1)
        ten.save(metadata={"n_events": 11})
        first = next(told)
        assert (first.event, first.json["content"], first.json["n"]) == ("resync", ten.text, 11)
        ten.end()
        assert [event.event for event in told] == ["message.end"]


def test_an_old_answer_is_told_from_its_row(web, ten, bearer):
    ten.end()
    liveness.client().delete(events.stream_key(ten.id))
    for given in ({}, {"Last-Event-ID": str(events.sse_id(ten.id, 4))}):
        with web.open("GET", ten.path, **given, **bearer) as client:
            told = list(client.events())
        assert [event.event for event in told] == ["resync", "message.end"]
        assert {event.json.get("content") or event.json["message"]["content"] for event in told} == {ten.text}
        assert [int(event.id) for event in told] == sorted({int(event.id) for event in told})
        status, _, _ = web.get(ten.path, Last_Event_ID=told[-1].id, **bearer)
        assert status == 204


def test_a_killed_web_process_loses_nothing(own_web, ten, bearer):
    with own_web.open("GET", ten.path, **bearer) as client:
        seen = [next(events_) for events_ in [client.events()] for _ in range(7)]
        own_web.kill(signal.SIGKILL)
    ten.say("while nobody looked")
    own_web.start()
    with own_web.open("GET", ten.path, Last_Event_ID=seen[-1].id, **bearer) as client:
        told = client.events()
        rest = [next(told) for _ in range(4)]
        ten.end()
        rest += told
    assert numbers([*seen, *rest]) == list(range(1, 13)) and rest[-1].event == "message.end"
    ten.row.refresh_from_db()
    assert ten.row.status == "complete" and not ten.row.metadata.get("reason")


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_two_hundred_streams_lose_nothing_over_a_restart(own_web, ten, bearer, sig):
    clients = [own_web.open("GET", ten.path, **bearer) for _ in range(200)]
    told: list[list[Sse]] = [[] for _ in clients]

    def read(at):
        client = clients[at]
        try:
            with client:
                told[at].extend(client.events())
        except (ConnectionError, AssertionError):
            pass

    threads = [threading.Thread(target=read, args=(at,)) for at in range(200)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: all(len(one) >= 10 for one in told))
    own_web.kill(sig)
    for thread in threads:
        thread.join(30)
    ten.say("meanwhile ")
    ten.flush()
    own_web.start()
    clients[:] = [own_web.open("GET", ten.path, Last_Event_ID=one[-1].id, **bearer) for one in told]
    threads = [threading.Thread(target=read, args=(at,)) for at in range(200)]
    for thread in threads:
        thread.start()
    ten.say("after ")
    ten.end()
    for thread in threads:
        thread.join(60)
    assert {tuple(numbers(one)) for one in told} == {tuple(range(1, 14))}
    log = own_web.log.read_text()
    assert "Traceback" not in log and "Cancel" not in log, log[-3000:]
