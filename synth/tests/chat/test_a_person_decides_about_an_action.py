"""An action that needs a person waits for one, is done once when allowed, and not at all otherwise."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils.timezone import now

from synth import actions, registries
from synth.actions import Outcome, Waiting
from synth.errors import Conflict, Invalid, NotAllowed, NotFound, Refused
from synth.models import Approval, AuditEntry, Message, OutboxEvent
from synth.services import agents, approvals, dialogues, people
from synth.tests.chat.asking import ask, caller, end, only, streaming, turn_in


@pytest.fixture(autouse=True)
def no_judge(monkeypatch):
    monkeypatch.setattr(registries.approval_judges, "_entries", {})


@pytest.fixture
def bell(add):
    return add(risk="needs_approval")


def decide(decision, by, **values):
    return approvals.decide(only().pk, decision, by=caller(by), door="rest", **values)


def again(answer, name="bell_ring", payload=None, call_id="call_1"):
    turn = turn_in(answer.dialogue)
    return actions.perform(turn, name, payload, call_id=call_id, answer=answer)


def test_it_is_offered_where_somebody_can_be_asked_and_waits(dialogue, bell):
    assert "bell_ring" in {a.name for a in actions.available(turn_in(dialogue))}
    answer, waiting = ask(dialogue, payload={"times": 2})
    row = only()
    assert waiting == Waiting(row.pk, row.expires_at) and not bell
    assert (row.status, row.action, row.arguments) == ("pending", "bell_ring", {"times": 2})
    assert row.reason == "This action always needs a person's word."
    assert row.scopes[0]["key"] == 'bell_ring:{"times":2}'
    asked = OutboxEvent.objects.get(name="synth.approval_requested")
    assert asked.payload == {"approval_id": str(row.pk), "person_id": dialogue.person.pk}
    assert again(answer, payload={"times": 2}) == waiting and Approval.objects.count() == 1


def test_allowed_once_it_is_performed_once(dialogue, bell):
    answer, _ = ask(dialogue)
    row = decide("allow_once", dialogue.person)
    assert (row.status, row.decision, row.decided_by) == ("allowed", "allow_once", dialogue.person)
    assert again(answer).is_ok and len(bell) == 1
    second = again(answer)
    assert (second.code, second.is_ok, len(bell)) == ("already_performed", False, 1)
    done = AuditEntry.objects.get(action="bell_ring", outcome="done")
    assert done.after is not None and done.after["approval"] == str(row.pk)
    decided = AuditEntry.objects.get(action="approval_decide")
    assert decided.after is not None
    assert (decided.actor, decided.after["status"]) == (dialogue.person, "allowed")
    told = OutboxEvent.objects.get(name="synth.approval_decided")
    assert told.payload == {"approval_id": str(row.pk), "status": "allowed"}


def test_the_waiting_turn_is_due_when_it_is_decided(dialogue, bell):
    answer, _ = ask(dialogue)
    Message.objects.filter(pk=answer.pk).update(due_at=approvals.due_at(answer))
    answer.refresh_from_db()
    assert answer.due_at == only().expires_at
    decide("allow_once", dialogue.person)
    answer.refresh_from_db()
    assert answer.due_at <= now() and approvals.due_at(answer) <= now()


@pytest.mark.parametrize("no", ["deny", "dismiss"])
def test_denied_it_is_not_done_and_not_asked_again_in_that_turn(dialogue, bell, no):
    answer, _ = ask(dialogue)
    assert decide(no, dialogue.person).status == "denied"
    assert again(answer).code == "denied" and not bell
    assert again(answer, call_id="call_2").code == "denied" and Approval.objects.count() == 1
    assert isinstance(again(answer, payload={"times": 3}, call_id="call_3"), Waiting)
    end(answer)
    assert isinstance(ask(dialogue)[1], Waiting)


def test_what_was_allowed_is_not_stretched_to_other_arguments_or_actions(dialogue, bell, add):
    other = add("light_on", risk="needs_approval")
    answer, _ = ask(dialogue, payload={"times": 2})
    decide("allow_once", dialogue.person)
    assert again(answer, payload={"times": 20}).code == "approval_mismatch"
    assert again(answer, name="light_on", payload={"times": 2}).code == "approval_mismatch"
    assert not bell and not other
    assert again(answer, payload={"times": 2}).is_ok


def test_a_second_decision_is_told_who_was_first_and_when(dialogue, bell):
    ask(dialogue)
    first = decide("allow_once", dialogue.person)
    for decision in ("allow_once", "deny"):
        with pytest.raises(Conflict) as caught:
            decide(decision, dialogue.person)
        assert caught.value.code == "approval_decided"
        said = caught.value.details
        assert (said["by"], said["at"]) == ("pia", first.decided_at.isoformat())
    refused = AuditEntry.objects.filter(action="approval_decide", outcome="refused")
    assert [entry.reason for entry in refused] == ["approval_decided"] * 2


def test_it_runs_out(dialogue, bell):
    answer, _ = ask(dialogue)
    Approval.objects.update(expires_at=now() - timedelta(seconds=1))
    with pytest.raises(Conflict) as caught:
        decide("allow_once", dialogue.person)
    assert caught.value.code == "approval_expired" and only().status == "expired"
    assert again(answer).code == "approval_expired" and not bell


def test_the_tick_ends_what_ran_out_and_what_its_turn_left_behind(dialogue, trainers_dialogue, bell):
    ask(dialogue)
    left, _ = ask(trainers_dialogue)
    assert approvals.expire_due(now()) == 0
    end(left, "failed")
    assert approvals.expire_due(now() + timedelta(hours=1)) == 2
    assert approvals.expire_due(now() + timedelta(hours=1)) == 0
    found = dict(Approval.objects.values_list("dialogue__person__username", "status"))
    assert found == {"pia": "expired", "tara": "withdrawn"}
    assert OutboxEvent.objects.filter(name="synth.approval_decided").count() == 2


def test_the_time_to_answer_is_a_setting(dialogue, bell, monkeypatch):
    monkeypatch.setenv("APPROVAL_TTL_S", "60")
    before = now()
    ask(dialogue)
    assert timedelta(0) <= only().expires_at - before - timedelta(seconds=60) < timedelta(seconds=30)


def test_a_resumed_turn_settles_its_own_question(dialogue, bell):
    answer, _ = ask(dialogue)
    Approval.objects.update(expires_at=now())
    assert again(answer).code == "approval_expired" and only().status == "expired"


def test_after_the_turn_ended_nobody_decides(dialogue, bell):
    answer, _ = ask(dialogue)
    end(answer, "cancelled")
    with pytest.raises(Conflict) as caught:
        decide("allow_once", dialogue.person)
    assert caught.value.code == "turn_ended" and only().status == "withdrawn"


def test_a_turn_takes_its_question_back(dialogue, bell):
    answer, _ = ask(dialogue)
    assert approvals.pending_in(dialogue.pk) == only()
    assert approvals.withdraw(answer) == 1 and approvals.withdraw(answer) == 0
    assert approvals.pending_in(dialogue.pk) is None
    assert again(answer).code == "approval_withdrawn" and not bell


def test_a_turn_that_is_over_asks_nobody(dialogue, bell):
    answer = streaming(dialogue)
    end(answer)
    _, outcome = ask(dialogue, answer=answer)
    assert outcome.code == "approval_withdrawn" and only().status == "withdrawn"
    assert not OutboxEvent.objects.filter(name="synth.approval_requested").exists()


@pytest.mark.parametrize(
    ("decision", "values", "field"),
    [
        ("maybe", {}, "decision"),
        ("allow_always", {"scope": 9}, "scope"),
        ("allow_session", {"scope": -1}, "scope"),
    ],
)
def test_an_answer_that_is_none_is_refused_by_field(dialogue, bell, decision, values, field):
    ask(dialogue)
    with pytest.raises(Invalid) as caught:
        decide(decision, dialogue.person, **values)
    assert caught.value.field == field and only().status == "pending"
    assert caught.value.code == ("unknown_scope" if values else "invalid")


def test_another_persons_question_is_not_there(dialogue, bell, trainer):
    ask(dialogue)
    for person in (people.ensure("nosy"), trainer):
        with pytest.raises(NotFound) as caught:
            decide("allow_once", person)
        assert caught.value.code == "approval_not_found"
    with pytest.raises(NotFound):
        approvals.decide(uuid.uuid4(), "deny", by=caller(trainer), door="rest")
    assert only().status == "pending"


def test_an_operator_decides_anywhere(dialogue, bell, django_user_model):
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    ask(dialogue)
    assert decide("allow_once", olga).decided_by == olga


def test_what_only_a_trainer_may_cause_another_trainer_may_allow(trainers_dialogue, add, agent, trainer):
    add("self_change", risk="needs_approval", who="trainer")
    second = people.ensure("theo")
    agents.update(agent, {"trainers": [trainer, second]}, by=None, door="command")
    ask(trainers_dialogue, "self_change")
    with pytest.raises(NotFound):
        approvals.decide(only().pk, "deny", by=caller(second, may_train=False), door="rest")
    assert decide("allow_once", second).decided_by == second


def test_who_may_no_longer_cause_it_neither_allows_nor_performs_it(trainers_dialogue, add, agent, trainer):
    change = add("self_change", risk="needs_approval", who="trainer")
    answer, _ = ask(trainers_dialogue, "self_change")
    agents.update(agent, {"trainers": []}, by=None, door="command")
    with pytest.raises(NotAllowed):
        decide("allow_once", trainer)
    Approval.objects.update(status="allowed")
    assert again(answer, "self_change").code == "not_allowed" and not change


def test_an_app_acts_for_plain_persons_only(dialogue, trainers_dialogue, bell, trainer):
    service = people.ensure("frontend")
    ask(dialogue)
    ask(trainers_dialogue)
    for_trainer = caller(trainer, may_train=False, app=service)
    assert not approvals.seen(for_trainer).exists()
    for_person = caller(dialogue.person, may_train=False, app=service)
    (row,) = approvals.seen(for_person)
    assert approvals.decide(row.pk, "allow_once", by=for_person, door="rest").status == "allowed"


def test_a_background_turn_asks_nobody(agent, dialogue, bell):
    turn = turn_in(dialogue)
    turn.person = None
    outcome = actions.perform(turn, "bell_ring", None, call_id="c", answer=streaming(dialogue))
    assert isinstance(outcome, Outcome) and outcome.code == "needs_approval"
    assert not Approval.objects.exists()
    assert "bell_ring" not in {a.name for a in actions.available(turn)}


def test_what_cannot_be_read_or_caused_is_refused_before_anybody_is_asked(dialogue, bell, add):
    add("self_change", risk="needs_approval", who="trainer")
    assert ask(dialogue, payload={"times": "often"})[1].code == "invalid_payload"
    end(Message.objects.get())
    assert ask(dialogue, "self_change")[1].code == "not_allowed"
    assert not Approval.objects.exists()


def test_a_diff_is_shown_and_a_broken_one_hinders_nothing(dialogue, add):
    add("bell_paint", risk="needs_approval", diff=lambda turn, a: f"- {a.times}\n+ red\x00")
    add("bell_melt", risk="needs_approval", diff=lambda turn, a: 1 / 0, scopes=lambda a: 1 / 0)
    answer, _ = ask(dialogue, "bell_paint")
    assert only().diff == "- 1\n+ red\ufffd"
    _, waiting = ask(dialogue, "bell_melt", answer=answer, call_id="call_2")
    row = Approval.objects.get(pk=waiting.approval_id)
    assert row.diff == "" and len(row.scopes) == 1


def test_arguments_the_database_cannot_hold_are_asked_about_all_the_same(dialogue, add):
    rung = add("note_keep", risk="needs_approval", raw_payload=True)
    odd = {"text": "a\x00b\ud800"}
    answer, _ = ask(dialogue, "note_keep", odd)
    assert only().arguments == {"text": "a\ufffdb\ufffd"}
    decide("allow_once", dialogue.person)
    assert again(answer, "note_keep", odd).is_ok and rung == [odd]


def test_only_what_the_judge_allowed_can_be_complained_about_and_once(dialogue, bell):
    answer, _ = ask(dialogue)
    me = caller(dialogue.person)
    for status, door in (("pending", ""), ("allowed", "rest"), ("allowed", "grant"), ("denied", "judge")):
        Approval.objects.update(status=status, decided_door=door)
        with pytest.raises(Refused) as refused:
            approvals.should_have_asked(only().pk, by=me, door="rest")
        assert refused.value.code == "not_automatic"
    Approval.objects.update(status="allowed", decided_door="judge")
    approvals.should_have_asked(only().pk, by=me, door="rest")
    with pytest.raises(Conflict) as caught:
        approvals.should_have_asked(only().pk, by=me, door="rest")
    assert caught.value.code == "already_labelled" and caught.value.details["by"] == "pia"
    assert OutboxEvent.objects.filter(name="synth.approval_regretted").count() == 1
    assert again(answer).is_ok


def test_an_operator_who_is_none_any_more_performs_nothing_that_was_allowed_before(agent, add):
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    people.make_operator(people.ensure("oren"), by=None, door="command")
    hook = add("hooks_change", risk="needs_approval", who="operator")
    dialogue = dialogues.create(agent, olga)
    answer, _ = ask(dialogue, "hooks_change")
    decide("allow_once", olga)
    turn = turn_in(dialogue)
    people.remove_operator(people.ensure("olga"), by=None, door="command")
    outcome = actions.perform(turn, "hooks_change", None, call_id="call_1", answer=answer)
    assert outcome.code == "not_allowed" and not hook
