"""Persons: power given and taken leaves its trace, and the command prints a working key."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from synth.errors import Conflict, Invalid, Refused
from synth.models import AuditEntry, Person
from synth.services import agents, keys, people

pytestmark = pytest.mark.django_db


def issue(*args: str) -> str:
    out = StringIO()
    call_command("create_api_key", *args, stdout=out)
    return out.getvalue().split()[-1]


def test_the_last_word_of_the_command_is_the_key() -> None:
    key = keys.authenticate(issue("olga", "--role", "operator"))
    assert key is not None and key.role == "operator"
    olga = Person.objects.get(username="olga")
    assert olga.is_operator and olga.is_staff and olga.is_superuser and not olga.has_usable_password()
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {
        "person_create",
        "person_make_operator",
        "key_issue",
    }


def test_a_second_key_of_another_role_takes_nothing_away() -> None:
    issue("olga", "--role", "operator")
    key = keys.authenticate(issue("olga", "--role", "app", "--name", "web", "--scope", "chat"))
    assert key is not None and key.scopes == ["chat"] and key.person.is_operator


def test_the_command_refuses_nonsense() -> None:
    for args in (
        ("a b", "--role", "person"),
        ("pia", "--role", "king"),
        ("pia", "--role", "person", "--scope", "chat"),
    ):
        with pytest.raises(CommandError):
            issue(*args)


def test_a_trainer_is_staff_as_long_as_they_train() -> None:
    tara = people.ensure("tara")
    agent = agents.create(slug="wren", name="Wren", trainers=[tara])
    tara.refresh_from_db()
    assert tara.is_staff and [group.name for group in tara.groups.all()] == ["trainers"]
    agents.update(agent, {"trainers": []}, by=None, door="command")
    again = Person.objects.get(username="tara")
    assert not again.is_staff and not again.groups.exists()


def test_an_operator_who_trains_no_more_stays_staff() -> None:
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    agent = agents.create(slug="wren", name="Wren", trainers=[olga])
    agents.update(agent, {"trainers": []}, by=None, door="command")
    olga.refresh_from_db()
    assert olga.is_staff


def test_the_last_operator_stays() -> None:
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    with pytest.raises(Refused):
        people.remove_operator(olga, by=olga, door="admin")
    other = people.make_operator(people.ensure("oscar"), by=olga, door="admin")
    assert people.remove_operator(olga, by=other, door="admin").is_superuser is False


def test_an_archived_person_is_closed_and_opened_once() -> None:
    pia = people.ensure("pia")
    people.archive(pia, by=None, door="command")
    with pytest.raises(Conflict):
        people.archive(pia, by=None, door="command")
    with pytest.raises(Refused):
        keys.issue(pia, role="person")
    people.unarchive(pia, by=None, door="command")
    assert pia.is_active and pia.archived_at is None


def test_nobody_archives_themselves() -> None:
    pia = people.ensure("pia")
    with pytest.raises(Refused):
        people.archive(pia, by=pia, door="admin")


@pytest.mark.parametrize("username", ["", "a b", "x" * 151, "a\x00b", "a/b"])
def test_a_bad_username_is_refused(username: str) -> None:
    with pytest.raises(Invalid):
        people.ensure(username)


def test_ensure_changes_nobody_who_is_there() -> None:
    people.ensure("pia", language="it")
    assert people.ensure("pia", language="de").language == "it"
