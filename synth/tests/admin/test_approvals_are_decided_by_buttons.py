"""Questions in the admin site: read-only rows, a page each, decided by the service behind all other doors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from pydantic import BaseModel

from synth import actions, registries
from synth.actions import Action, Outcome
from synth.models import Agent, Approval, ApprovalGrant, AuditEntry, Person
from synth.services import dialogues, people
from synth.tests.admin.conftest import login
from synth.tests.chat.asking import ask

LIST, GRANTS = "/admin/synth/approval/", "/admin/synth/approvalgrant/"


class Note(BaseModel, extra="forbid"):
    """A text."""

    text: str = "<b>tea</b>"


@pytest.fixture(autouse=True)
def actions_to_ask_about(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registries.approval_judges, "_entries", {})
    for name, who in (("note_keep", "anyone"), ("self_change", "trainer")):
        actions.register(
            Action(
                name, "", lambda t, a: Outcome("Done."), Note, risk="needs_approval", who=who,  # type: ignore[arg-type]
                diff=lambda t, a: "+ <i>tea</i>",
            )
        )  # fmt: skip
    yield
    actions.unregister("note_keep")
    actions.unregister("self_change")


@pytest.fixture
def asked(wren: Agent) -> Approval:
    ask(dialogues.create(wren, people.ensure("pia")), "note_keep")
    return Approval.objects.get()


def page(row: Approval) -> str:
    return f"{LIST}{row.pk}/change/"


def test_the_page_shows_what_is_asked_escaped_with_its_buttons(operator: Client, asked: Approval) -> None:
    text = operator.get(page(asked)).content.decode()
    assert (
        "&lt;b&gt;tea&lt;/b&gt;" in text and "+ &lt;i&gt;tea&lt;/i&gt;" in text and "<b>tea</b>" not in text
    )
    assert "This action always needs a person&#x27;s word." in text
    for decision in ("allow_once", "allow_session", "allow_always", "deny"):
        assert f'value="{decision}"' in text
    assert (
        "Only exactly this" in text
        and "style=" not in text.split('class="synth-approval"')[1].split("</section>")[0]
    )


def test_a_button_decides_and_the_second_press_says_who_was_first(operator: Client, asked: Approval) -> None:
    answer = operator.post(
        f"{LIST}{asked.pk}/decide/", {"decision": "allow_always", "scope": "0"}, follow=True
    )
    assert b"Decided; the agent goes on." in answer.content and b'value="deny"' not in answer.content
    asked.refresh_from_db()
    assert asked.decided_by is not None
    assert (asked.status, asked.decided_door, asked.decided_by.username) == ("allowed", "admin", "olga")
    late = operator.post(f"{LIST}{asked.pk}/decide/", {"decision": "deny"}, follow=True)
    assert b"This was allowed before by olga." in late.content
    assert AuditEntry.objects.filter(action="approval_decide", door="admin").count() == 2


@pytest.mark.parametrize("values", [{}, {"decision": "perhaps"}, {"decision": "allow_always", "scope": "x"}])
def test_an_answer_that_is_none_changes_nothing(
    operator: Client, asked: Approval, values: dict[str, str]
) -> None:
    assert operator.post(f"{LIST}{asked.pk}/decide/", values).status_code == 302
    asked.refresh_from_db()
    assert asked.status == "pending"


def test_a_trainer_sees_and_decides_only_what_trainers_cause(
    trainer: Client, tara: Person, wren: Agent, asked: Approval
) -> None:
    assert trainer.get(page(asked)).status_code == 404
    assert trainer.post(f"{LIST}{asked.pk}/decide/", {"decision": "allow_once"}).status_code == 404
    answer, _ = ask(dialogues.create(wren, tara), "self_change")
    row = Approval.objects.get(answer=answer)
    assert str(row.pk) in trainer.get(LIST).content.decode() and trainer.get(page(row)).status_code == 200
    trainer.post(f"{LIST}{row.pk}/decide/", {"decision": "allow_once"})
    row.refresh_from_db()
    assert row.status == "allowed" and Approval.objects.get(pk=asked.pk).status == "pending"


def test_rows_are_neither_added_nor_changed_nor_deleted_by_hand(operator: Client, asked: Approval) -> None:
    assert operator.post(page(asked), {"status": "allowed"}).status_code == 403
    assert operator.get(f"{LIST}add/").status_code in (403, 404)
    assert operator.post(f"{LIST}{asked.pk}/delete/", {"post": "yes"}).status_code == 403
    assert operator.get(f"{LIST}{asked.pk}/decide/").status_code == 405
    for odd in ("1", "x", "00000000-0000-0000-0000-000000000000"):
        assert operator.get(f"{LIST}{odd}/change/").status_code == 404


def test_who_is_no_steward_gets_nothing(asked: Approval) -> None:
    for client in (Client(), login(people.ensure("pia"))):
        assert client.get(page(asked)).status_code == 302
        assert client.post(f"{LIST}{asked.pk}/decide/", {"decision": "deny"}).status_code == 302
    asked.refresh_from_db()
    assert asked.status == "pending"


def test_what_system_1_allowed_shows_how_and_can_be_complained_about(
    operator: Client, asked: Approval
) -> None:
    gates = {"rule": "note_keep", "p": 0.97}
    Approval.objects.update(
        status="allowed", decided_door="judge", gates=gates, judgment_run="approvals.allow/1"
    )
    text = operator.get(page(asked)).content.decode()
    assert "0.97" in text and "System 1 should have asked" in text
    said = operator.post(f"{LIST}{asked.pk}/should-have-asked/", follow=True).content.decode()
    assert "it counts against the rule" in said and "System 1 should have asked</button>" not in said
    assert (
        "This was said before."
        in operator.post(f"{LIST}{asked.pk}/should-have-asked/", follow=True).content.decode()
    )


def test_grants_are_taken_back_by_an_action(operator: Client, asked: Approval) -> None:
    row = ApprovalGrant.objects.create(person=asked.person, agent=asked.agent, key="note_keep:{}")
    assert operator.get(f"{GRANTS}{row.pk}/change/").status_code == 200
    for expected in ("Done: 1.", "taken back before"):
        done = operator.post(GRANTS, {"action": "revoke", "_selected_action": [row.pk]}, follow=True)
        assert expected in done.content.decode()
    row.refresh_from_db()
    assert row.revoked_at is not None
