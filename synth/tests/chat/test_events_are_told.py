"""What happens to an answer is told in order, without gaps, and no trouble with Redis reaches the turn."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth import liveness
from synth.chat import events
from synth.chat.events import Event
from synth.chat.publishing import Publisher, courier


def told(answer_id: int) -> list[Event]:
    entries: Any = liveness.client().xrange(events.stream_key(answer_id))
    return [events.of_entry(*entry) for entry in entries]


@pytest.fixture
def answer_id() -> int:
    return uuid.uuid4().int % 9_000_000_000


def test_events_are_numbered_and_words_come_before_what_follows_them(answer_id):
    publisher = Publisher(answer_id)
    publisher.start(dialogue="d", parent=None, agent="wren", at=timezone.now())
    for word in ("Hel", "lo", " there"):
        publisher.delta(word)
    publisher.action(id=None, action="bell_ring", call_id="call_1", status="running")
    publisher.end(message={"id": 1}, actions=[], usage={"total_tokens": 3}, finish_reason="stop")
    found = told(answer_id)
    assert [event.n for event in found] == list(range(1, len(found) + 1)) and publisher.n == len(found)
    assert [event.name for event in found if event.name != "delta"] == [
        "message.start", "action", "message.end",
    ]  # fmt: skip
    assert "".join(event.data["text"] for event in found if event.name == "delta") == "Hello there"
    assert found[-2].name == "action" and found[-1].is_terminal
    assert all(event.data["message_id"] == answer_id for event in found)
    assert 0 < liveness.client().ttl(events.stream_key(answer_id)) <= events.KEPT_S


def test_words_that_wait_are_told_though_nothing_follows(answer_id):
    publisher = Publisher(answer_id)
    publisher.delta("a")
    publisher.delta("b")
    end = time.monotonic() + 10
    while len(told(answer_id)) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert [event.data["text"] for event in told(answer_id)] == ["a", "b"]


def test_the_bell_says_the_same_as_the_stream(answer_id):
    listener = liveness.client().pubsub(ignore_subscribe_messages=True)
    listener.subscribe(events.bell_channel(answer_id))
    listener.get_message(timeout=1)
    publisher = Publisher(answer_id)
    publisher.delta("zwölf\nBoxkämpfer \U0001f600")
    publisher.error("llm_timeout", "Too late.", retry_after_s=3)
    heard: list[Event] = []
    while len(heard) < 2 and (message := listener.get_message(timeout=5)):
        event = events.of_bell(message["data"])
        assert event is not None
        heard.append(event)
    listener.close()
    assert heard == told(answer_id)
    assert heard[1].data == {
        "code": "llm_timeout", "message": "Too late.", "message_id": answer_id, "retry_after_s": 3,
    }  # fmt: skip


def test_who_takes_over_goes_on_with_the_numbers(answer_id):
    first = Publisher(answer_id)
    first.delta("a")
    first.tell("approval")
    courier().flush()
    second = Publisher(answer_id, n=None)
    second.error("crashed", "Gone.")
    assert [event.n for event in told(answer_id)] == [1, 2, 3] and Publisher(answer_id + 1, n=None).n == 0


def test_many_answers_at_once_keep_their_own_order(answer_id):
    def speak(own: int) -> None:
        publisher = Publisher(own)
        for n in range(50):
            publisher.delta(f"{n} ")
            if n % 10 == 0:
                publisher.say_now()
        publisher.error("x", "y")

    threads = [threading.Thread(target=speak, args=(answer_id + n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(8):
        found = told(answer_id + n)
        assert [event.n for event in found] == list(range(1, len(found) + 1))
        words = "".join(event.data["text"] for event in found[:-1])
        assert words.split() == [str(word) for word in range(50)]


def test_without_redis_the_turn_goes_on(answer_id, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    publisher = Publisher(answer_id, n=None)
    publisher.delta("Hello")
    publisher.error("x", "y")
    assert publisher.n == 2


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters()))
def test_any_text_comes_through_the_wire_forms(text):
    data = {"text": text}
    event = Event(7, "delta", events.encode(data))
    assert "\n" not in event.text and event.text.encode()
    assert events.of_bell(event.bell) == events.of_entry("0-7", event.fields) == event
    assert json.loads(event.text)["text"] == re.sub("[\ud800-\udfff]", "\ufffd", text)
    lines = event.sse(12).decode().split("\n")
    assert lines[:2] == ["id: 12000007", "event: delta"] and lines[3:] == ["", ""]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12000007", (12, 7)),
        ("7", (0, 7)),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 17, None),
    ],
)
def test_ids_that_clients_send_back_are_read_or_refused(text, found):
    assert events.parse_sse_id(text) == found


@pytest.mark.parametrize("message", ["", "x delta {}", "1", "1 delta", "1 delta ", "1  {}"])
def test_what_is_no_event_is_passed_over(message):
    assert events.of_bell(message) is None
