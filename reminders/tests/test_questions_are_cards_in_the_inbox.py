"""A question of an agent is a card in its inbox, once; it goes with the question, and put away it says no."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import transaction
from django.utils.timezone import now
from rest_framework.test import APIClient

from reminders import handlers
from reminders.models import Delivery
from reminders.services import cards, carrying
from synth import actions, registries
from synth.actions import Action, Outcome
from synth.services import agents, approvals, dialogues, draining, keys, people
from synth.tests.chat.asking import ask, caller, end

Approval: Any = apps.get_model("synth.Approval")


@pytest.fixture(autouse=True)
def an_action_to_ask_about(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registries.approval_judges, "_entries", {})
    actions.register(Action("bell_ring", "", lambda t, a: Outcome("Done."), risk="needs_approval"))
    yield
    actions.unregister("bell_ring")


@pytest.fixture
def asked(pia: Any) -> Any:
    ask(dialogues.create(agents.create(slug="wren", name="Wren"), pia))
    return Approval.objects.get()


def brought() -> Delivery:
    """The card, as it lies in the inbox."""
    draining.drain()
    carrying.drain_all()
    return Delivery.objects.get()


def client_of(person: Any, role: str = "person") -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role=role).plain}")
    return client


def test_the_card_says_what_is_asked_and_how_long_but_not_the_arguments(asked):
    card = brought()
    assert (card.status, card.kind, card.person, card.seq) == ("sent", "system", asked.person, 1)
    assert card.title == "Wren asks: may I do bell_ring?"
    assert card.body == "This action always needs a person's word."
    assert card.metadata == {
        "type": "tool-approval-request",
        "approval": str(asked.pk),
        "dialogue": str(asked.dialogue_id),
        "action": "bell_ring",
        "scopes": ["Only exactly this, with the same arguments."],
        "expires_at": asked.expires_at.isoformat(),
    }


def test_an_event_handled_twice_makes_one_card(asked):
    payload = {"approval_id": str(asked.pk), "person_id": asked.person_id}
    with transaction.atomic():
        handlers.show_approval(payload)
        handlers.show_approval(payload)
    assert Delivery.objects.count() == 1


def test_a_question_decided_before_its_event_is_handled_makes_none(asked):
    approvals.decide(asked.pk, "deny", by=caller(asked.person), door="rest")
    draining.drain()
    assert not Delivery.objects.exists()


def test_a_question_that_is_gone_makes_none(db):
    gone = {"approval_id": str(uuid4())}
    with transaction.atomic():
        handlers.show_approval(gone)
        handlers.settle_approval(gone)
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("decision", "status"), [("allow_once", "acted"), ("deny", "acted"), ("dismiss", "dismissed")]
)
@pytest.mark.parametrize("is_seen", [False, True])
def test_a_decided_question_settles_its_card(asked, decision, status, is_seen):
    card = brought()
    if is_seen:
        Delivery.objects.update(status="seen")
    approvals.decide(asked.pk, decision, by=caller(asked.person), door="rest")
    draining.drain()
    card.refresh_from_db()
    assert card.status == status


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_question_that_ran_out_takes_its_card_along(asked, is_seen):
    card = brought()
    if is_seen:
        Delivery.objects.update(status="seen")
    Approval.objects.update(expires_at=now())
    approvals.expire_due(now())
    draining.drain()
    card.refresh_from_db()
    assert card.status == "expired"


def test_a_card_not_sent_before_the_end_is_never_sent(asked):
    draining.drain()
    approvals.withdraw(asked.answer)
    draining.drain()
    assert carrying.drain_all() == 0 and Delivery.objects.get().status == "expired"


def test_putting_the_card_away_is_a_no_that_judges_nothing(asked):
    card = brought()
    answer = client_of(asked.person).post(f"/api/inbox/{card.seq}/dismiss/")
    assert answer.status_code == 200 and answer.json()["status"] == "dismissed"
    asked.refresh_from_db()
    assert (asked.status, asked.decision, asked.decided_by) == ("denied", "dismiss", asked.person)
    draining.drain()
    card.refresh_from_db()
    assert card.status == "dismissed"


def test_putting_it_away_too_late_changes_nothing_about_the_question(asked):
    card = brought()
    approvals.decide(asked.pk, "allow_once", by=caller(asked.person), door="rest")
    assert client_of(asked.person).post(f"/api/inbox/{card.seq}/dismiss/").status_code == 200
    asked.refresh_from_db()
    assert (asked.status, asked.decision) == ("allowed", "allow_once")


def test_an_app_of_an_operator_puts_a_card_away_without_deciding(db):
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    ask(dialogues.create(agents.create(slug="wren", name="Wren"), olga))
    card = brought()
    assert client_of(olga, "app").post(f"/api/inbox/{card.seq}/dismiss/").status_code == 200
    assert Approval.objects.get().status == "pending"


def test_other_deliveries_are_put_away_as_ever(pia, send):
    send(person=pia)
    carrying.drain_all()
    assert client_of(pia).post("/api/inbox/1/dismiss/").json()["status"] == "dismissed"


def test_a_deleted_dialogue_takes_its_cards_along(asked):
    brought()
    approvals.withdraw(asked.answer)
    end(asked.answer)
    dialogues.delete(asked.dialogue)
    assert not Delivery.objects.exists()
    assert cards.erase([f"dialogue:{uuid4()}", "cycle:1"]) == 0


def test_a_key_without_the_scope_for_chat_reads_no_inbox_and_changes_nothing(asked):
    card = brought()
    signals = APIClient()
    key = keys.issue(people.ensure("door"), role="app", scopes=["signals"]).plain
    signals.credentials(HTTP_AUTHORIZATION=f"Bearer {key}", HTTP_X_PERSON=asked.person.username)
    for word in ("dismiss", "seen", "act"):
        answer = signals.post(f"/api/inbox/{card.seq}/{word}/")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing"), word
    for answer in (
        signals.get("/api/inbox/"),
        signals.get("/api/reminders/stream"),
        signals.patch("/api/me/", {"display_name": "Somebody"}, format="json"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
    asked.refresh_from_db()
    card.refresh_from_db()
    assert (asked.status, card.status) == ("pending", "sent")
