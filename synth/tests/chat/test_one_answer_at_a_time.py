"""Two at once, a process that dies, a lease that ran out: one answer, and the next turn works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from synth import faults
from synth.errors import Conflict
from synth.models import Message, TurnState
from synth.net.postgresql.kept import shelf
from synth.services import dialogues, people, turns
from synth.tasks import settle_turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call, tree

DIES = """
import django
django.setup()
import sys
from pydantic import BaseModel
from synth import actions
from synth.actions import Action, Outcome
from synth.services import dialogues, people, turns
from synth.selectors import dialogues_of

class Bell(BaseModel, extra="forbid"):
    times: int = 1

def ring(turn, arguments):
    people.update(turn.person, {"first_name": "Rung"}, by=turn.person, door="chat")
    return Outcome("The bell rang.")

actions.register(Action("bell_ring", "Rings.", ring, Bell, "reversible"))
person = people.ensure("pia")
turns.take(dialogues_of(person).get(), person, "Ring.")
"""
POINTS = (
    "turns.open.before", "turns.open.after", "llm.send.before", "llm.record.after", "turns.action.before",
    "turns.result.before", "turns.finish.before", "turns.finish.after",
)  # fmt: skip


def with_name(url: str, name: str) -> str:
    """A database URL with another database's name."""
    head, _, query = url.partition("?")
    return head.rsplit("/", 1)[0] + "/" + name + (f"?{query}" if query else "")


def database() -> str:
    return with_name(os.environ["DATABASE_URL"], str(connection.settings_dict["NAME"]))


@pytest.mark.django_db(transaction=True)
def test_of_two_messages_at_once_one_is_answered_and_one_is_told_who_is_first(dialogue):
    ends: list[str] = []
    gate = threading.Barrier(4)

    def say(n: int) -> None:
        try:
            gate.wait(10)
            ends.append(turns.take(dialogue, dialogue.person, f"Message {n}").status)
        except Conflict as error:
            ends.append(f"{error.code} {error.details['by']}")
        finally:
            connection.close()

    with ScriptedHost([{"content": "Hello.", "delay_s": 1.5}], repeat_last=True) as host, host.installed():
        threads = [threading.Thread(target=say, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(ends) == ["complete", *["turn_running pia"] * 3] and len(host.requests) == 1
    assert Message.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_one_key_sent_by_many_at_once_says_it_once(dialogue):
    ends: list[str] = []

    def say() -> None:
        try:
            ends.append(turns.take(dialogue, dialogue.person, "Hi", key="k").content)
        except Conflict as error:
            ends.append(error.code)
        finally:
            connection.close()

    with ScriptedHost([{"content": "Hello.", "delay_s": 0.5}], repeat_last=True) as host, host.installed():
        threads = [threading.Thread(target=say) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(ends) <= {"Hello.", "turn_running"} and "Hello." in ends
    assert len(host.requests) == 1 and Message.objects.filter(role="user").count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_the_model_thinks(dialogue, add):
    add()
    held: list[int] = []

    def others():
        with psycopg.connect(database(), autocommit=True) as watcher:
            row = watcher.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            ).fetchone()
        return row[0] - len(shelf) if row else -1

    connection.close()
    until = time.monotonic() + 5
    while others() and time.monotonic() < until:  # those of threads of a test before
        time.sleep(0.05)

    def look(_request):
        held.append(others())
        return {"tool_calls": [call()]} if len(held) < 3 else "Done."

    with ScriptedHost(look) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Ring.")
    assert held == [0, 0, 0]


def test_a_silent_process_is_given_up_and_can_no_longer_write(dialogue):
    late = Message.objects.create(
        dialogue=dialogue, role="assistant", status="streaming", attempt=1, metadata={"kept": 1},
        lease_until=timezone.now() - timedelta(seconds=1),
    )  # fmt: skip
    alive = Message.objects.create(
        dialogue=dialogues.create(dialogue.agent, people.ensure("ada")), role="assistant",
        status="streaming", attempt=1, lease_until=timezone.now() + timedelta(seconds=60),
    )  # fmt: skip
    settle_turns()
    late.refresh_from_db()
    alive.refresh_from_db()
    assert (late.status, late.metadata, late.attempt) == ("failed", {"kept": 1, "reason": "crashed"}, 2)
    assert alive.status == "streaming"


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_comes_after_its_lease_is_lost_is_not_saved(dialogue):
    def too_late(_request):
        Message.objects.filter(status="streaming").update(lease_until=timezone.now() - timedelta(seconds=1))
        dialogues.settle_crashed(timezone.now())
        connection.close()
        return "Late."

    with ScriptedHost(too_late) as host, host.installed(), pytest.raises(Conflict) as caught:
        turns.take(dialogue, dialogue.person, "Hi")
    assert caught.value.code == "lease_lost"
    late = Message.objects.get(role="assistant")
    assert (late.status, late.content, late.metadata) == ("failed", "", {"reason": "crashed"})
    assert not TurnState.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_in_a_turn_leaves_a_failed_answer_and_the_next_turn_works(dialogue, point):
    with ScriptedHost([{"tool_calls": [call()]}, "It rang."]) as host:
        environment = {
            **os.environ, "SYNTH_FAULT": point, "DATABASE_URL": database(), "LLM_BASE_URL": host.base_url,
            "DJANGO_SETTINGS_MODULE": "synth.settings",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DIES], env=environment, cwd=django_settings.BASE_DIR,
            timeout=120, capture_output=True, text=True,
        )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    is_saved = point != "turns.open.before"
    ended = "complete" if point == "turns.finish.after" else "streaming"
    answers = Message.objects.filter(role="assistant", metadata__via__isnull=True)
    assert [m.status for m in answers] == ([ended] if is_saved else [])
    is_acted = point in ("turns.result.before", "turns.finish.before", "turns.finish.after")
    dialogue.person.refresh_from_db()
    assert (dialogue.person.first_name == "Rung") is is_acted
    Message.objects.filter(status="streaming").update(lease_until=timezone.now() - timedelta(seconds=1))
    with ScriptedHost(["Here I am."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, "Still there?")
    assert tree(dialogue)[-1] == ("assistant", "complete", "Here I am.")
    assert not Message.objects.filter(status="streaming").exists()
    sent = host.requests[0].text
    assert ("Ring." in sent) is is_saved
    if point == "turns.result.before":
        assert "Nothing is known of what became of this" in sent
    failed = [m.metadata["reason"] for m in Message.objects.filter(status="failed")]
    assert failed == (["crashed"] if is_saved and ended == "streaming" else [])


def test_every_fault_point_of_a_turn_is_killed_at_by_a_test():
    of_waiting = {"turns.aside.before", "turns.aside.after"}  # test_a_turn_waits_for_a_person
    assert {name for name in faults.KNOWN if name.startswith("turns.")} <= {*POINTS, *of_waiting}
