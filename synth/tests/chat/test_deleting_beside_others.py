"""A deletion beside another, beside words being said, beside a late decision: one of them wins, cleanly."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from synth.errors import Conflict, DomainError, NotFound
from synth.models import Approval, AuditEntry, Dialogue, LlmCall, Message
from synth.services import approvals, dialogue_deletion, dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.asking import ask, caller, end
from synth.tests.chat.running import until

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = range(4)


def at_once(*acts):
    """What each of them gave or raised, begun in the same moment."""
    start = threading.Barrier(len(acts))

    def run(act):
        try:
            start.wait()
            return act()
        except DomainError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def fresh(agent, person):
    row = dialogues.create(agent, person)
    dialogues.attach_proactive_node(row, "Hi.")
    return row


@pytest.mark.parametrize("_round", ROUNDS)
def test_of_two_deletions_one_has_the_receipt(agent, person, _round):
    row = fresh(agent, person)
    found = at_once(*[lambda: dialogues.delete(row, by=person)] * 3)
    receipts = [one for one in found if isinstance(one, dict)]
    assert [receipt["synth.Dialogue"] for receipt in receipts] == [1]
    assert {one.code for one in found if isinstance(one, Conflict)} == {"dialogue_gone"}
    done = AuditEntry.objects.filter(action="dialogue_delete", outcome="done")
    assert done.get().after == {"removed": receipts[0]} and done.get().actor == person


@pytest.mark.parametrize("_round", ROUNDS)
def test_words_and_a_deletion_at_once(agent, person, _round):
    row = fresh(agent, person)
    said, deleted = at_once(lambda: turns.begin(row, person, "Hello?"), lambda: dialogues.delete(row))
    if isinstance(deleted, dict):
        assert said.code == "dialogue_gone" and not Message.objects.exists()
    else:
        assert deleted.code == "turn_running" and said.answer.status == "streaming"
        assert Dialogue.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("_round", ROUNDS)
def test_a_late_decision_and_a_deletion_at_once(agent, person, add, _round):
    add(risk="needs_approval")
    row = dialogues.create(agent, person)
    answer, waiting = ask(row)
    end(answer)
    decided, deleted = at_once(
        lambda: approvals.decide(waiting.approval_id, "allow_always", by=caller(person), door="rest"),
        lambda: dialogues.delete(row),
    )
    assert decided.code in ("turn_ended", "approval_not_found")
    assert deleted["synth.Dialogue"] == 1 and not Approval.objects.exists()


def test_a_decision_that_waits_for_the_deletion_finds_nothing(agent, person, add):
    add(risk="needs_approval")
    row = dialogues.create(agent, person)
    answer, waiting = ask(row)
    end(answer)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            dialogues.delete(row)
            late = pool.submit(
                at_once,
                lambda: approvals.decide(waiting.approval_id, "deny", by=caller(person), door="rest"),
            )
            until(is_somebody_waiting)
        (error,) = late.result(30)
    assert isinstance(error, NotFound) and error.code == "approval_not_found"


def test_what_was_about_to_be_written_waits_for_the_deletion_and_goes(agent, person):
    """An observer of the last turn: the deletion looked before it wrote, and commits after."""
    row = fresh(agent, person)
    gone = Dialogue.objects.get(pk=row.pk)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            dialogues.delete(row)
            late = pool.submit(at_once, lambda: write_late(gone))
            until(is_somebody_waiting)
        late.result(30)
    assert LlmCall.objects.get().response_text == "[removed]"


def write_late(row):
    LlmCall.objects.create(
        agent=row.agent, purpose="chat", session=dialogues.session(row), response_text="Plum."
    )
    dialogue_deletion.forget_if_gone(row)


def is_somebody_waiting():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees what its first look saw
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return cursor.fetchone()[0]


def test_a_refused_deletion_is_on_record(agent, person):
    row = fresh(agent, person)
    turns.begin(row, person, "Hello?")
    with pytest.raises(Conflict):
        dialogues.delete(row, by=person, door="rest")
    entry = AuditEntry.objects.get(action="dialogue_delete")
    assert (entry.outcome, entry.reason, entry.actor) == ("refused", "turn_running", person)


def test_a_deletion_during_an_answer_is_refused_and_after_it_works(dialogue):
    def reply(_request):
        with pytest.raises(Conflict) as refused:
            dialogues.delete(dialogue)
        assert refused.value.code == "turn_running"
        connection.close()
        return "Here."

    with ScriptedHost([reply]) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Hello?")
    assert answer.content == "Here." and dialogues.delete(dialogue)["synth.Message"] == 2
