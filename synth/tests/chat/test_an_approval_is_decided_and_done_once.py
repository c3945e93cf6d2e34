"""Several at once: one question, one decision, the action done once, and nobody sleeps through it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils.timezone import now

from synth import actions, registries
from synth.actions import Action, Outcome, Waiting
from synth.errors import Conflict
from synth.models import Approval, ApprovalGrant, AuditEntry, Dialogue, Message, OutboxEvent, Person
from synth.rowqueue import leases
from synth.services import agents, approval_asking, approvals, dialogues, people
from synth.tests.chat.asking import ask, caller, end, only, streaming, turn_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries.approval_judges, "_entries", {})


@pytest.fixture
def rung() -> Iterator[list[int]]:
    found: list[int] = []

    def ring(turn: Any, arguments: Any) -> Outcome:
        found.append(1)
        return Outcome("It rang.")

    actions.register(Action("bell_ring", "", ring, risk="needs_approval"))
    yield found
    actions.unregister("bell_ring")


@pytest.fixture
def pair(rung: list[int]) -> tuple[Dialogue, Person]:
    """A dialogue, and an operator who may decide in it too."""
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    return dialogues.create(agents.create(slug="wren", name="Wren"), people.ensure("pia")), olga


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each gave or raised, all begun together on connections of their own."""
    barrier = threading.Barrier(len(works))
    found: list[Any] = [None] * len(works)

    def run(n: int, work: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            found[n] = work()
        except Conflict as conflict:
            found[n] = conflict
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n, work)) for n, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return found


def test_two_people_at_once_make_one_decision(pair):
    dialogue, olga = pair
    ask(dialogue)
    pk = only().pk
    deciders = [(olga, "deny"), (dialogue.person, "allow_always")] * 4
    found = at_once(
        *(lambda p=p, d=d: approvals.decide(pk, d, by=caller(p), door="rest") for p, d in deciders)
    )
    won = [one for one in found if isinstance(one, Approval)]
    lost = [one for one in found if isinstance(one, Conflict)]
    assert len(won) == 1 and {one.code for one in lost} == {"approval_decided"} and len(lost) == 7
    row = only()
    assert row.decided_by is not None and row.decided_at is not None
    assert {one.details["by"] for one in lost} == {row.decided_by.username}
    assert {one.details["at"] for one in lost} == {row.decided_at.isoformat()}
    assert OutboxEvent.objects.filter(name="synth.approval_decided").count() == 1
    assert AuditEntry.objects.filter(action="approval_decide", outcome="done").count() == 1


def test_two_workers_at_once_perform_it_once(pair, rung):
    dialogue, _ = pair
    answer, _ = ask(dialogue)
    approvals.decide(only().pk, "allow_once", by=caller(dialogue.person), door="rest")
    work = lambda: actions.perform(turn_in(dialogue), "bell_ring", None, call_id="call_1", answer=answer)  # noqa: E731
    found = at_once(*[work] * 6)
    assert len(rung) == 1 and sorted(one.code for one in found) == ["", *["already_performed"] * 5]


def test_two_workers_at_once_ask_one_question(pair):
    dialogue, _ = pair
    answer = streaming(dialogue)
    found = at_once(*[lambda: ask(dialogue, answer=answer)[1]] * 6)
    assert found == [Waiting(only().pk, only().expires_at)] * 6
    assert OutboxEvent.objects.filter(name="synth.approval_requested").count() == 1


def test_deciding_and_the_end_of_the_turn_do_not_miss_each_other(pair):
    dialogue, _ = pair
    for _ in range(6):
        answer, waiting = ask(dialogue)

        def stop(answer: Message = answer) -> int:
            with transaction.atomic():
                leases.guarded(answer, was={"status": "streaming"}, status="cancelled", lease_until=None)
                Dialogue.objects.filter(pk=dialogue.pk).update(at=now())
                return approvals.withdraw(answer)

        by = caller(dialogue.person)
        decided, n_withdrawn = at_once(
            partial(approvals.decide, waiting.approval_id, "allow_session", by=by, door="rest"), stop
        )
        row = Approval.objects.get(pk=waiting.approval_id)
        if isinstance(decided, Conflict):
            assert (decided.code, row.status) == ("turn_ended", "withdrawn") and n_withdrawn <= 1
        else:
            assert (row.status, n_withdrawn) == ("allowed", 0)
        ApprovalGrant.objects.all().delete()


def test_a_decision_while_the_turn_is_laid_aside_is_not_slept_through(pair):
    dialogue, _ = pair
    for _ in range(6):
        answer, waiting = ask(dialogue, answer=streaming(dialogue, lease_until=now()))

        def lay_aside(answer: Message = answer) -> None:
            with transaction.atomic():
                leases.release(answer, approvals.due_at(answer))

        decide = lambda pk=waiting.approval_id: approvals.decide(  # noqa: E731
            pk, "allow_once", by=caller(dialogue.person), door="rest"
        )
        assert not [one for one in at_once(lay_aside, decide) if isinstance(one, Conflict)]
        answer.refresh_from_db()
        assert answer.lease_until is None and answer.due_at <= now()
        end(answer)


def test_a_decision_wakes_nobody_before_it_is_saved(pair):
    dialogue, _ = pair
    answer, _ = ask(dialogue)
    assert approval_asking.find(answer, "call_1") == only()
    before = approvals.due_at(answer)
    Message.objects.filter(pk=answer.pk).update(due_at=before)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        approvals.decide(only().pk, "deny", by=caller(dialogue.person), door="rest")
        raise ZeroDivisionError
    answer.refresh_from_db()
    assert (only().status, answer.due_at) == ("pending", before)
