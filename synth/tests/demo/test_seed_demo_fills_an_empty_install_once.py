"""`manage.py seed_demo`: what it makes, and that it never changes or brings back anything."""

from __future__ import annotations

import io
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import now

from synth import registries, selectors
from synth.demo import seed
from synth.models import Agent, AuditEntry, DiaryEntry, Memory, OutboxEvent, Person
from synth.services import agents, memories
from synth.stack import logins

pytestmark = pytest.mark.django_db
DEMO = ["minato", "wren"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, so that the passwords of this test are nobody else's."""
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> str:
    """The command's output."""
    out = io.StringIO()
    call_command("seed_demo", *arguments, stdout=out)
    return out.getvalue()


def everything() -> dict[str, Any]:
    """Every row the demo could touch."""
    models = (Agent, AuditEntry, DiaryEntry, Memory, OutboxEvent, Person)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def test_it_makes_two_agents_with_their_diary_and_memories():
    output = run()
    assert "made agent wren" in output and "made agent minato" in output
    assert sorted(Agent.objects.values_list("slug", flat=True)) == DEMO
    for agent in Agent.objects.all():
        assert agent.diary.count() >= 42
        assert agent.memories.count() >= 8
        assert agent.founding_persona == agent.persona
        assert [trainer.username for trainer in agent.trainers.all()] == ["trainer"]


def test_the_last_seven_local_days_of_each_agent_are_full():
    run()
    for agent in Agent.objects.all():
        zone = ZoneInfo(agent.timezone)
        today = now().astimezone(zone).date()
        for days_ago in range(1, 8):
            start = datetime.combine(today - timedelta(days=days_ago), datetime.min.time(), tzinfo=zone)
            end = datetime.combine(start.date() + timedelta(days=1), datetime.min.time(), tzinfo=zone)
            assert len(selectors.diary_between(agent, start, end)) >= 2


def test_a_second_run_changes_nothing():
    run()
    before = everything()
    assert run() == "the demo is already there\n"
    assert everything() == before
    assert run("--first-run") == ""
    assert everything() == before


def test_three_persons_can_log_in_with_passwords_of_a_private_file(home: Path):
    output = run()
    target = logins.path()
    assert str(target) in output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    words = logins.read()
    assert set(words) == {"operator", "trainer", "guest"}
    for name, word in words.items():
        assert Person.objects.get(username=name).check_password(word)
        assert word not in output


def test_the_trainer_gets_into_the_admin_site_with_the_written_password_only(client: Client):
    run()
    for word, status in (("guess", 200), (logins.read()["trainer"], 302)):
        answer = client.post("/admin/login/?next=/admin/", {"username": "trainer", "password": word})
        assert answer.status_code == status


def test_the_operator_and_the_trainer_reach_the_admin_and_the_guest_does_not():
    run()
    rights = {p.username: (p.is_staff, p.is_operator) for p in Person.objects.all()}
    assert rights == {"operator": (True, True), "trainer": (True, False), "guest": (False, False)}


def test_a_person_of_that_name_keeps_password_and_rights():
    own = Person.objects.create_user("operator", password="mine-and-only-mine")
    run()
    own.refresh_from_db()
    assert own.check_password("mine-and-only-mine")
    assert not own.is_operator
    assert "operator" not in logins.read()


def test_a_first_run_does_nothing_beside_an_agent_of_somebody_else():
    agents.create(slug="mine", name="Mine")
    assert run("--first-run") == ""
    assert [agent.slug for agent in Agent.objects.all()] == ["mine"]
    assert not Person.objects.exists()


def test_a_first_run_does_not_bring_deleted_demo_agents_back():
    run("--first-run")
    Agent.objects.all().delete()
    assert run("--first-run") == ""
    assert not Agent.objects.exists()


def test_asked_for_again_deleted_demo_agents_come_back():
    run("--first-run")
    Agent.objects.filter(slug="wren").delete()
    assert "made agent wren" in run()
    assert Agent.objects.count() == 2


def test_a_seeding_that_was_cut_off_goes_on_at_the_next_first_run(monkeypatch: pytest.MonkeyPatch):
    def fail(agent: Agent, *, at: datetime) -> None:
        if agent.slug == "minato":
            raise RuntimeError("cut off")

    registry: registries.Registry[Any] = registries.Registry("demo_seeders")
    registry.add("test.fail", fail)
    monkeypatch.setattr(registries, "demo_seeders", registry)
    with pytest.raises(RuntimeError):
        run("--first-run")
    assert [agent.slug for agent in Agent.objects.all()] == ["wren"]  # minato left nothing behind
    assert not DiaryEntry.objects.exclude(agent__slug="wren").exists()
    monkeypatch.setattr(registries, "demo_seeders", registries.Registry("demo_seeders"))
    assert "made agent minato" in run("--first-run")


def test_every_demo_seeder_is_asked_once_for_each_new_agent(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    registry: registries.Registry[Any] = registries.Registry("demo_seeders")
    registry.add("test.note", lambda agent, *, at: asked.append(agent.slug))
    monkeypatch.setattr(registries, "demo_seeders", registry)
    run()
    run()
    assert sorted(asked) == DEMO


def test_what_is_kept_about_the_guest_is_recalled_for_the_guest_only():
    seed.seed(at=now(), passwords=logins.passwords)
    wren = Agent.objects.get(slug="wren")
    guest = Person.objects.get(username="guest")
    found = memories.recall(wren, "short answers evening", about=guest, limit=5)
    names = {item.memory.name for item in found}
    assert "jay-evenings" in names
    for other in (None, Person.objects.get(username="trainer")):
        found = memories.recall(wren, "short answers evening", about=other, limit=5)
        assert "jay-evenings" not in {item.memory.name for item in found}
