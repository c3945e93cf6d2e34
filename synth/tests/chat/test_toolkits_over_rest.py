"""Toolkits over REST: listed, chosen, inherited, and nobody else's to change."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from synth.models import Person
from synth.services import keys, people, toolkits
from synth.tests.api.conftest import no_limits  # noqa: F401 - a fixture


def client_of(person: Person) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role='person').plain}")
    return client


@pytest.fixture
def client(person):
    return client_of(person)


def test_kits_are_listed_with_the_default_first(client):
    found = client.get("/api/toolkits/").json()["results"]
    assert [kit["name"] for kit in found] == ["default", "companion", "memory_care", "talk"]
    assert all(kit["text"].endswith(".") for kit in found)


def test_a_kit_is_chosen_at_the_beginning_or_later(client, agent):
    made = client.post("/api/dialogues/", {"agent": "wren", "toolkit": "talk"}, format="json")
    assert made.status_code == 201
    shown = made.json()
    assert (shown["toolkit"], shown["toolkit_origin"], shown["suggested_toolkit"]) == ("talk", "chosen", None)
    url = f"/api/dialogues/{shown['id']}/"
    assert client.patch(url, {"toolkit": "companion"}, format="json").json()["toolkit"] == "companion"
    assert client.get(url).json()["toolkit"] == "companion"


def test_a_dialogue_continued_from_another_is_on_its_kit(client, agent):
    first = client.post("/api/dialogues/", {"agent": "wren", "toolkit": "talk"}, format="json").json()
    heir = client.post("/api/dialogues/", {"agent": "wren", "from": first["id"]}, format="json").json()
    assert (heir["toolkit"], heir["toolkit_origin"]) == ("talk", "inherited")


def test_a_suggestion_is_shown_and_taken_by_the_person(client, dialogue):
    toolkits.suggest(str(dialogue.pk), "talk", "run", is_shown=True)
    url = f"/api/dialogues/{dialogue.pk}/"
    assert client.get(url).json()["suggested_toolkit"] == "talk"
    taken = client.patch(url, {"toolkit": "talk"}, format="json").json()
    assert (taken["toolkit_origin"], taken["suggested_toolkit"]) == ("suggested", None)


@pytest.mark.parametrize(
    ("body", "status", "field", "code"),
    [
        ({"toolkit": "hammers"}, 400, "toolkit", "unknown_toolkit"),
        ({"toolkit": 7}, 400, "toolkit", "invalid"),
        ({"toolkit": ""}, 400, "toolkit", "invalid"),
        ({"toolkit": "x" * 65}, 400, "toolkit", "invalid"),
        ({"from": "nothing"}, 400, "from", "invalid"),
        ({"from": "00000000-0000-0000-0000-000000000000"}, 404, "from", "dialogue_not_found"),
    ],
)
def test_what_does_not_fit_names_its_field(client, agent, body, status, field, code):
    answer = client.post("/api/dialogues/", {"agent": "wren", **body}, format="json")
    error = answer.json()["error"]
    assert (answer.status_code, error["field"], error["code"]) == (status, field, code)


def test_somebody_elses_dialogue_can_be_neither_continued_nor_changed(dialogue, agent):
    other = client_of(people.ensure("ada"))
    made = other.post("/api/dialogues/", {"agent": "wren", "from": str(dialogue.pk)}, format="json")
    changed = other.patch(f"/api/dialogues/{dialogue.pk}/", {"toolkit": "talk"}, format="json")
    assert (made.status_code, changed.status_code) == (404, 404)
