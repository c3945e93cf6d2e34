"""Rows end streams: whatever is lost or dies, each stream gets exactly one last event."""

from __future__ import annotations

import subprocess
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils.timezone import now

from synth import liveness
from synth.chat import events
from synth.chat.publishing import Publisher
from synth.models import Approval, Message
from synth.services import keys
from synth.stack import valkey
from synth.tests.streams.served import Web, eventually, pause

pytestmark = pytest.mark.slow


def test_an_end_nobody_told_is_told_from_the_row(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        told = client.events()
        answer.start()
        answer.say("Half ")
        assert [next(told).event, next(told).event] == ["message.start", "delta"]
        answer.text += "and the rest."
        answer.end(is_told=False)
        resync, end = list(told)
    assert (resync.event, resync.json["content"]) == ("resync", "Half and the rest.")
    assert end.event == "message.end" and end.json["message"]["status"] == "complete"


def test_a_lease_that_ran_out_is_an_error(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        told = client.events()
        answer.start()
        answer.say("Half ")
        answer.save(lease_until=now() - timedelta(seconds=1))
        found = list(told)
    assert [event.event for event in found] == ["message.start", "delta", "error"]
    assert found[-1].json["code"] == "crashed" and found[-1].json["message_id"] == answer.id
    answer.row.refresh_from_db()
    assert (answer.row.status, answer.row.content) == ("failed", "Half ")


@pytest.mark.parametrize("status", ["failed", "cancelled", "complete"])
def test_an_answer_that_ended_before_is_one_event(web, begin, bearer, status):
    answer = begin(status=status, lease_until=None, content="Hello.", metadata={"reason": "llm_timeout"})
    with web.open("GET", answer.path, **bearer) as client:
        found = list(client.events())
    assert [event.event for event in found if event.event != "resync"] == [
        "error" if status == "failed" else "message.end"
    ]
    assert status != "failed" or found[-1].json["code"] == "llm_timeout"


def test_a_dialogue_deleted_meanwhile_is_an_error(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        told = client.events()
        answer.start()
        next(told)
        Message.objects.filter(dialogue=answer.row.dialogue_id).delete()
        found = list(told)
    assert [event.event for event in found] == ["error"] and found[0].json["code"] == "dialogue_gone"


def test_an_answer_that_waits_too_long_is_rung_for_once_again(web, begin, bearer):
    answer = begin(lease_until=None, due_at=now() - timedelta(seconds=30))
    with web.open("GET", answer.path, **bearer):
        assert eventually(lambda: liveness.client().lrange(events.RING, 0, -1) == [str(answer.id)])
        pause(12)
        assert liveness.client().lrange(events.RING, 0, -1) == [str(answer.id)]


def test_the_connection_is_kept_open_while_a_model_thinks(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        client.connection.settimeout(15)  # a comment comes before
        blocks = client.blocks()
        assert next(blocks).retry
        comments = [next(blocks) for _ in range(2)]
    assert all(block.comment and not block.event and not block.id for block in comments)


def store(answer, event: events.Event) -> None:
    """Keep an event in Redis without ringing for it."""
    fields: Any = event.fields
    liveness.client().xadd(events.stream_key(answer.id), fields, id=f"0-{event.n}")


def test_lost_bells_cost_seconds(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        told = client.events()
        answer.start()
        next(told)
        for n in range(2, 6):
            event = events.Event(n, "delta", events.encode({"message_id": answer.id, "text": f"{n}"}))
            store(answer, event)
        assert [next(told).json["text"] for _ in range(4)] == ["2", "3", "4", "5"]
        answer.voice.n = 5
        liveness.client().execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        answer.say("6")
        answer.end()
        assert [event.event for event in told] == ["delta", "message.end"]


def test_another_installation_on_the_same_redis_ends_nothing(web, begin, bearer, settings):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        assert eventually(lambda: liveness.client().zcard(events.viewers_key(answer.id)) == 1)
        ours = settings.REDIS_URL
        settings.REDIS_URL = f"{ours.partition('?')[0]}?db=15"
        Publisher(answer.id).error("llm_timeout", "How an answer of the same number ended there.")
        answer.flush()
        liveness.client().delete(events.stream_key(answer.id))
        settings.REDIS_URL = ours
        answer.start()
        answer.end()
        assert [event.event for event in client.events()] == ["message.start", "message.end"]


def test_bells_out_of_order_are_put_in_order(web, begin, bearer):
    answer = begin()
    with web.open("GET", answer.path, **bearer) as client:
        told = client.events()
        answer.start()
        next(told)
        made = [
            events.Event(n, "delta", events.encode({"message_id": answer.id, "text": str(n)}))
            for n in range(2, 8)
        ]
        for event in made:
            store(answer, event)
        for event in [made[4], made[0], made[0], made[5], made[2]]:
            liveness.client().publish(events.bell_channel(answer.id), event.bell)
        liveness.client().publish(events.bell_channel(answer.id), "no event at all")
        assert [next(told).json["text"] for _ in range(6)] == list("234567")
        answer.voice.n = 7
        answer.end()
        assert [event.event for event in told] == ["message.end"]


def start_redis(folder: Path) -> subprocess.Popen[bytes]:
    command = [str(valkey.binary()), "--port", "0", "--unixsocket", "v.sock", "--save", "", "--dir", "."]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert eventually(lambda: (folder / "v.sock").is_socket())
    return process


def test_without_redis_rows_still_end_streams_and_it_comes_back(begin, bearer, tmp_path, settings):
    settings.REDIS_URL = f"unix://{tmp_path / 'v.sock'}?db=0"
    redis = start_redis(tmp_path)
    with Web(tmp_path / "web.log", REDIS_URL=settings.REDIS_URL) as web:
        one, other = begin(), begin()
        with web.open("GET", one.path, **bearer) as client:
            told = client.events()
            one.start()
            one.say("Half ")
            one.flush()
            assert [next(told).event, next(told).event] == ["message.start", "delta"]
            redis.kill()
            redis.wait()
            (tmp_path / "v.sock").unlink()
            one.text += "and the rest."
            one.end()
            assert [event.event for event in told] == ["resync", "message.end"]
        with web.open("GET", other.path, **bearer) as client:
            # Begun without Redis.
            told = client.events()
            redis = start_redis(tmp_path)
            pause(1)
            other.start()
            other.say("Back.")
            other.end()
            assert [event.event for event in told] == ["message.start", "delta", "message.end"]
    redis.kill()
    redis.wait()


def test_a_key_that_is_revoked_ends_its_streams(web, begin, key, person, bearer):
    answer = begin()
    other = {"Authorization": f"Bearer {keys.issue(person, role='person').plain}"}
    answer.start()
    with web.open("GET", answer.path, **bearer) as mine, web.open("GET", answer.path, **other) as kept:
        keys.revoke(person.api_keys.get(prefix=key.split("_")[1]), by=None, door="command")
        mine.connection.settimeout(40)
        assert [block.event for block in mine.blocks() if block.event] == ["message.start"] and mine.ended
        answer.end()
        assert [event.event for event in kept.events()] == ["message.start", "message.end"]
    assert web.get(answer.path, **bearer)[0] == 401


def wait_for(web, answer, bearer):
    """Ask again with the key of a message that is being answered, in a thread; the answer when it comes."""
    found = []
    row = answer.row
    body = {"dialogue": str(row.dialogue_id), "content": "Hello?"}
    thread = threading.Thread(
        target=lambda: found.append(web.ask("POST", "/api/chat/", body, Idempotency_Key="k", **bearer))
    )
    thread.start()
    return thread, found


@pytest.fixture
def waited(begin):
    """An answer to a message that was said with a key."""
    import hashlib

    answer = begin()
    request = hashlib.sha256(b"leaf\nHello?").hexdigest()
    said = Message.objects.filter(pk=answer.row.parent_id)
    said.update(dedupe_key="post:k", metadata={"request": request, "answer": answer.id})
    return answer


def test_whoever_waits_gets_the_whole_answer(web, waited, bearer):
    thread, found = wait_for(web, waited, bearer)
    assert eventually(lambda: web.n_open() == 1)
    waited.start()
    waited.say("Hello.")
    waited.end()
    thread.join(20)
    ((status, headers, body),) = found
    assert status == 200 and headers["content-type"] == "application/json" and b'"Hello."' in body
    assert "x-synth-stream" not in headers


def test_whoever_waits_gets_the_error(web, waited, bearer):
    thread, found = wait_for(web, waited, bearer)
    assert eventually(lambda: web.n_open() == 1)
    waited.end(status="failed", metadata={"reason": "llm_unreachable"})
    thread.join(20)
    ((status, headers, body),) = found
    assert (status, headers["retry-after"]) == (503, "30") and b'"llm_unreachable"' in body


def test_whoever_waits_gets_the_question(web, waited, bearer, person):
    row = waited.row
    thread, found = wait_for(web, waited, bearer)
    assert eventually(lambda: web.n_open() == 1)
    asked = Approval.objects.create(
        agent=row.dialogue.agent, person=person, dialogue=row.dialogue, answer=row, call_id="c1",
        action="bell_ring", expires_at=now() + timedelta(minutes=30),
    )  # fmt: skip
    waited.save(lease_until=None, due_at=asked.expires_at)
    thread.join(20)
    ((status, _, body),) = found
    assert status == 200 and b'"streaming"' in body and str(asked.pk).encode() in body


def test_hanging_up_on_a_wait_stops_nothing(web, waited, bearer):
    body = {"dialogue": str(waited.row.dialogue_id), "content": "Hello?"}
    client = web.open("POST", "/api/chat/", body, Idempotency_Key="k", **bearer)
    assert eventually(lambda: web.n_open() == 1)
    client.connection.close()
    assert eventually(lambda: web.n_open() == 0)
    pause(5)
    waited.row.refresh_from_db()
    assert waited.row.status == "streaming" and waited.row.turn.stop_reason == ""


def test_many_who_wait_hold_no_thread(web, waited, bearer):
    waiting = [wait_for(web, waited, bearer) for _ in range(30)]
    assert eventually(lambda: web.n_open() == 30)
    assert web.get("/api/me/", **bearer)[0] == 200
    waited.end()
    for thread, _ in waiting:
        thread.join(30)
    assert {found[0][0] for _, found in waiting} == {200}
