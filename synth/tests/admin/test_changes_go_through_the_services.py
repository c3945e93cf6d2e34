"""What an operator does in the admin is checked, audited and published like anything else."""

from __future__ import annotations

import re

from django.test import Client
from django.utils.timezone import now

from synth.models import Agent, ApiKey, AuditEntry, EventHandling, Memory, OutboxEvent, Person
from synth.recall import near
from synth.recall.meaning import Meaning, pack
from synth.services import keys, memories, people

AGENT_FORM = {"slug": "juno", "name": "Juno", "persona": "", "timezone": "UTC", "language": "en",
              "interface_path": "", "model_overrides": "{}", "likes": "tea\nTEA", "dislikes": ""}  # fmt: skip


def test_an_agent_is_made(operator: Client, tara: Person) -> None:
    answer = operator.post("/admin/synth/agent/add/", {**AGENT_FORM, "trainers": [tara.pk]})
    assert answer.status_code == 302, answer.context["errors"]
    agent = Agent.objects.get(slug="juno")
    assert agent.likes == ["tea"] and list(agent.trainers.all()) == [tara]
    tara.refresh_from_db()
    assert tara.is_staff
    assert AuditEntry.objects.get(action="agent_create").door == "admin"
    assert OutboxEvent.objects.filter(name="synth.agent_created").exists()


def test_a_refusal_stands_at_its_field(operator: Client, wren: Agent) -> None:
    for slug in ("report", "WREN"):
        answer = operator.post("/admin/synth/agent/add/", {**AGENT_FORM, "slug": slug})
        assert answer.status_code == 200 and "slug" in answer.context["adminform"].form.errors
    answer = operator.post("/admin/synth/agent/add/", {**AGENT_FORM, "timezone": "Mars"})
    assert "timezone" in answer.context["adminform"].form.errors


def test_agents_are_archived_by_an_action(operator: Client, wren: Agent) -> None:
    data = {"action": "archive", "_selected_action": [wren.pk]}
    operator.post("/admin/synth/agent/", data)
    wren.refresh_from_db()
    assert wren.archived_at
    page = operator.post("/admin/synth/agent/", data, follow=True).content.decode()
    assert "already archived" in page


def test_a_key_is_shown_once_and_works(operator: Client) -> None:
    pia = people.ensure("pia")
    form = {"person": pia.pk, "name": "web", "role": "app", "scopes": ["chat"]}
    answer = operator.post("/admin/synth/apikey/add/", form)
    assert answer.status_code == 200 and "no-store" in answer.headers["Cache-Control"]
    plain = re.search(r"synth_[0-9a-f]{8}_[\w-]{43}", answer.content.decode())
    assert plain
    key = keys.authenticate(plain.group())
    assert key is not None and (key.person, key.scopes) == (pia, ["chat"])
    for path in ("", f"{key.pk}/change/", f"{key.pk}/history/"):
        page = operator.get(f"/admin/synth/apikey/{path}").content.decode()
        assert plain.group() not in page and key.sha256 not in page


def test_a_key_above_its_person_is_refused(operator: Client) -> None:
    form = {"person": people.ensure("pia").pk, "name": "", "role": "operator"}
    page = operator.post("/admin/synth/apikey/add/", form, follow=True).content.decode()
    assert "Only an operator can have an operator key." in page
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_by_an_action(operator: Client) -> None:
    issued = keys.issue(people.ensure("pia"), role="person")
    operator.post("/admin/synth/apikey/", {"action": "revoke", "_selected_action": [issued.key.pk]})
    assert keys.authenticate(issued.plain) is None


def test_a_person_is_made_with_a_password_and_changed(operator: Client) -> None:
    form = {"username": "pia", "password1": "kestrel-over-9-fields", "password2": "kestrel-over-9-fields"}
    answer = operator.post("/admin/synth/person/add/", form)
    assert answer.status_code == 302, answer.context["errors"]
    pia = Person.objects.get(username="pia")
    assert pia.check_password("kestrel-over-9-fields")
    profile = {"timezone": "Asia/Tokyo", "language": "ja", "country": "jp", "is_minor": "on",
               "quiet_hours": "null",
               "has_gift_memory_consent": "unknown", "username": "stolen", "is_operator": "on"}  # fmt: skip
    answer = operator.post(f"/admin/synth/person/{pia.pk}/change/", profile)
    assert answer.status_code == 302, answer.context["errors"]
    pia.refresh_from_db()
    assert (pia.username, pia.timezone, pia.country, pia.is_minor) == ("pia", "Asia/Tokyo", "JP", True)
    assert not pia.is_operator
    answer = operator.post(f"/admin/synth/person/{pia.pk}/change/", {**profile, "timezone": "Mars"})
    assert "timezone" in answer.context["adminform"].form.errors


def test_an_operator_is_made_and_the_last_one_stays(operator: Client, olga: Person) -> None:
    pia = people.ensure("pia")
    operator.post("/admin/synth/person/", {"action": "make_operator", "_selected_action": [pia.pk]})
    pia.refresh_from_db()
    assert pia.is_operator
    for person in (pia, olga):
        data = {"action": "remove_operator", "_selected_action": [person.pk]}
        page = operator.post("/admin/synth/person/", data, follow=True).content.decode()
    assert "The last operator stays." in page


def test_a_memory_is_kept_changed_and_forgotten(operator: Client, wren: Agent) -> None:
    pia = people.ensure("pia")
    form = {"agent": wren.pk, "name": "", "text": "Plays the cello.", "tags": "music", "kind": "fact",
            "about_username": "pia"}  # fmt: skip
    answer = operator.post("/admin/synth/memory/add/", form)
    assert answer.status_code == 302, answer.context["errors"]
    row = Memory.objects.defer("search").get()
    assert row.about == pia and memories.recall(wren, "cello", about=pia, limit=3)
    operator.post(f"/admin/synth/memory/{row.pk}/change/", {**form, "text": "Plays the harp."})
    assert memories.recall(wren, "harp", about=pia, limit=3) and not memories.recall(
        wren, "cello", about=pia, limit=3
    )
    operator.post(f"/admin/synth/memory/{row.pk}/delete/", {"post": "yes"})
    assert not Memory.objects.exists()


def test_a_parked_event_is_retried_by_post_only(operator: Client, olga: Person) -> None:
    event = OutboxEvent.objects.create(name="synth.tested", payload={})
    row = EventHandling.objects.create(event=event, handler="h", status="parked", n_failures=8, due_at=now())
    operator.get(f"/admin/synth/eventhandling/?action=retry&_selected_action={row.pk}")
    row.refresh_from_db()
    assert row.status == "parked"
    operator.post("/admin/synth/eventhandling/", {"action": "retry", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.status == "waiting"


def test_an_agent_shows_how_many_memories_are_recalled_by_meaning(operator: Client, wren: Agent) -> None:
    row = memories.write(wren, text="Plays the cello.")
    memories.write(wren, text="Plays the harp.")
    page = f"/admin/synth/agent/{wren.pk}/change/"
    assert "0 of 2" in operator.get(page).content.decode()
    (unread,) = (one for one in near.missing(2**62, 10) if one.id == row.pk)
    near.save(unread, Meaning("m/1", pack([1.0] + [0.0] * 383)))
    assert "1 of 2 (1 by m/1)" in operator.get(page).content.decode()
