"""A worker's listener inside the test, answers it runs, and what their viewers are told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from synth import liveness
from synth.chat import events
from synth.chat.events import Event
from synth.chat.listener import Listener
from synth.models import Message, TurnState
from synth.services import turn_live
from synth.testing.scripted_host import ScriptedHost


@contextmanager
def listening(**values: Any) -> Iterator[Listener]:
    """Turns run while the block does; at its end the ones that still run are ended."""
    listener = Listener(**{"look_s": 0.5, "grace_s": 20.0, **values})
    listener.start()
    try:
        yield listener
    finally:
        if not listener._is_closing.is_set():
            listener.close()
        assert listener.wait()


@contextmanager
def served(*replies: Any, **values: Any) -> Iterator[ScriptedHost]:
    """A model's host and a worker."""
    with ScriptedHost(replies) as host, host.installed(), listening(**values):
        yield host


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """What the condition gives once it is true; AssertionError when that takes too long."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)
    return found


def ended(answer: Message) -> Message:
    """The answer once it is over, its last event told."""
    until(lambda: told(answer) and told(answer)[-1].is_terminal)
    until(lambda: turn_live.all_live() == [])
    answer.refresh_from_db()
    assert answer.status != "streaming" and answer.lease_until is None
    assert not TurnState.objects.filter(pk=answer.pk).exists()
    return answer


def told(answer: Message) -> list[Event]:
    """Every event of an answer so far; they are numbered without gaps, and nothing follows the last."""
    entries: Any = liveness.client().xrange(events.stream_key(answer.pk))
    found = [events.of_entry(*entry) for entry in entries]
    assert [event.n for event in found] == list(range(1, len(found) + 1))
    assert not any(event.is_terminal for event in found[:-1])
    return found


def words(answer: Message) -> str:
    """The words of the last round."""
    found: list[str] = []
    for event in told(answer):
        if event.name == "action":
            found = []
        elif event.name == "delta":
            found.append(event.data["text"])
    return "".join(found)


def names(answer: Message) -> list[str]:
    """The events' names, with runs of deltas as one."""
    found = [event.name for event in told(answer)]
    return [name for n, name in enumerate(found) if name != "delta" or n == 0 or found[n - 1] != "delta"]
