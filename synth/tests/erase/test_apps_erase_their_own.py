"""Apps add erasers; rows they must keep leave an anonymous owner."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db.models import ProtectedError

from synth import registries
from synth.models import Agent, ApiKey, Person
from synth.services import erase

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture
def eraser(monkeypatch):
    seen = []
    registry: registries.Registry[Any] = registries.Registry("erasers")
    monkeypatch.setattr(registries, "erasers", registry)

    def erase_ours(erasure):
        seen.append(erasure)
        return {"app.Row": 2}

    registry.add("app.rows", erase_ours)
    return seen


def test_an_eraser_is_told_who_goes_and_its_counts_are_in_the_receipt(eraser):
    person = Person.objects.create(username="mina")
    receipt = erase.erase_person("mina", at=AT)
    assert receipt.counts["app.rows"] == {"app.Row": 2}
    (erasure,) = eraser
    assert erasure.person == person or erasure.person.username == "mina"
    assert erasure.agent is None and erasure.traces.are_in("I met Mina today")


def test_an_eraser_hears_of_an_agent(eraser):
    Agent.objects.create(slug="wren", name="Wren")
    erase.erase_agent("wren", at=AT)
    assert eraser[0].agent is not None and eraser[0].person is None


def test_a_person_whose_rows_must_stay_becomes_anonymous(monkeypatch):
    person = Person.objects.create_user("mina", email="m@example.org", password="a long password")
    ApiKey.objects.create(person=person, role="person", prefix="x", sha256="2" * 64)

    def refuse(self, *args, **kwargs):
        raise ProtectedError("a ledger points here", {person})

    monkeypatch.setattr(Person, "delete", refuse)
    erase.erase_person("mina", at=AT)
    left = Person.objects.get(pk=person.pk)
    assert left.username == f"erased-{person.pk}" and not left.email and not left.is_active
    assert not left.has_usable_password() and not left.api_keys.exists()
