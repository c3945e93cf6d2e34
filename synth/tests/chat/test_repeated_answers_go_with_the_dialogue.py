"""An answer kept for a repeated request goes with the dialogue it quotes, whoever asked and at which door."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from synth.models import Approval, ApprovalGrant, Dialogue, IdempotentAnswer, Message, Person
from synth.services import approvals, dialogues, keys, people, turns
from synth.tests.chat.asking import ask, caller, end
from synth.tests.chat.conftest import call
from synth.tests.chat.running import ended, served, until

TOLD = {"content": "Plum words.", "tool_calls": [call(arguments={"times": 987123})]}


def post(person: Person, path: str, role: str = "person") -> dict[str, Any]:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role=role).plain}")
    answer = client.post(path, headers={"Idempotency-Key": f"once {path}"})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def allowed(dialogue: Dialogue, decision: str) -> Approval:
    answer, waiting = ask(dialogue, payload={"times": 987123})
    row = approvals.decide(waiting.approval_id, decision, by=caller(dialogue.person), door="rest")
    end(answer)
    return row


def kept() -> str:
    return str(list(IdempotentAnswer.objects.values_list("body", flat=True)))


@pytest.mark.django_db(transaction=True)
def test_of_a_stopped_answer(dialogue, agent, add):
    add(risk="needs_approval")
    mine, other = dialogue, dialogues.create(agent, dialogue.person)
    with served(TOLD, TOLD):
        for row in (mine, other):
            answer = turns.begin(row, row.person, "Ring.").answer
            asked = Message.objects.filter(pk=answer.pk, lease_until=None)
            until(asked.filter(approvals__isnull=False).exists)
            post(row.person, f"/api/chat/{answer.pk}/stop/")
            ended(answer)
    assert kept().count("message") == 2
    dialogues.delete(mine)
    bodies: list[Any] = list(IdempotentAnswer.objects.values_list("body", flat=True))
    assert [body["message"]["id"] for body in bodies] == [answer.pk]


def test_of_a_grant_that_was_taken_back(dialogue, add):
    add(risk="needs_approval")
    allowed(dialogue, "allow_always")
    post(dialogue.person, f"/api/approvals/grants/{ApprovalGrant.objects.get().pk}/revoke/")
    assert "987123" in kept()
    dialogues.delete(dialogue)
    assert not IdempotentAnswer.objects.exists()


def test_of_an_operators_complaint(dialogue, add):
    add(risk="needs_approval")
    row = allowed(dialogue, "allow_once")
    Approval.objects.filter(pk=row.pk).update(decided_door="judge", decided_by=None)
    operator = people.ensure("opal")
    operator.is_operator = True
    operator.save()
    post(operator, f"/api/approvals/{row.pk}/should-have-asked/", "operator")
    assert "987123" in kept()
    dialogues.delete(dialogue)
    assert not IdempotentAnswer.objects.exists()
