"""A request that refers to a row erased under its feet is a conflict, not a failure."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from synth.models import Person
from synth.services import agents, keys, memories, people


@pytest.mark.django_db(transaction=True)
def test_a_memory_about_a_person_erased_meanwhile_is_409(monkeypatch: pytest.MonkeyPatch) -> None:
    agents.create(slug="wren", name="Wren")
    people.ensure("pia")
    operator = people.make_operator(people.ensure("olga"), by=None, door="command")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(operator, role='operator').plain}")
    write = memories.write

    def write_late(*args, **values):
        Person.objects.filter(username="pia").delete()
        return write(*args, **values)

    monkeypatch.setattr(memories, "write", write_late)
    answer = client.post("/api/agents/wren/memories/", {"text": "Likes tea.", "about": "pia"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
