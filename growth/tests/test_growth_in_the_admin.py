"""The admin pages of growth: a new user's first click, trainers within their agents, GET changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from growth.models import GrowthRun, GrowthSettings, GrowthState
from growth.services import cycle, settings, states
from synth.services import agents, people


@pytest.fixture
def login(db: None, settings: Any) -> Any:
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }

    def of(person: Any, **options: Any) -> Client:
        client = Client(**options)
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return of


def page(noun: str, row: Any) -> str:
    return reverse(f"admin:growth_growth{noun}_change", args=[row.pk])


def row_of(agent: Any) -> GrowthSettings:
    return GrowthSettings.objects.get(agent=agent)


@pytest.fixture
def reflect(agent: Any) -> str:
    return reverse("admin:growth_reflect", args=[row_of(agent).pk])


def test_the_first_click_gives_a_cited_reflection(agent, live_week, login, operator, reflect, settings):
    settings.LLM_BASE_URL = None
    live_week(agent)
    client = login(operator)
    shown = client.get(page("settings", row_of(agent))).content.decode()
    assert "Reflect now" in shown and reflect in shown and "has not reflected yet" in shown
    answer = client.post(reflect)
    run = GrowthRun.objects.get()
    assert answer.status_code == 302 and answer["Location"] == page("run", run)
    waiting = client.get(answer["Location"]).content.decode()
    assert 'http-equiv="refresh"' in waiting and "about to reflect" in waiting
    cycle.run_waiting()
    done = client.get(answer["Location"]).content.decode()
    assert "has reflected" in done and 'http-equiv="refresh"' not in done
    assert "<blockquote>" in done and "diary #" in done and "composer" in done
    assert "is becoming" in client.get(page("settings", row_of(agent))).content.decode()


def test_a_second_click_leads_to_the_run_under_way(agent, login, operator, reflect):
    client = login(operator)
    client.post(reflect)
    answer = client.post(reflect)
    assert GrowthRun.objects.count() == 1
    assert answer["Location"] == page("run", GrowthRun.objects.get())
    assert "watch it" in client.get(page("settings", row_of(agent))).content.decode()


def test_get_never_starts_anything(agent, login, operator, reflect):
    client = login(operator)
    assert client.get(reflect).status_code == 405
    state = states.commit(
        agent, content="I am.", likes=None, dislikes=None, source="weekly", created_by="test"
    )
    assert client.get(reverse("admin:growth_restore", args=[state.pk])).status_code == 405
    assert client.get(reverse("admin:growth_by_hand", args=[row_of(agent).pk])).status_code == 405
    assert not GrowthRun.objects.exists() and GrowthState.objects.count() == 1


def test_a_post_without_a_csrf_token_is_refused(login, operator, reflect):
    assert login(operator, enforce_csrf_checks=True).post(reflect).status_code == 403
    assert not GrowthRun.objects.exists()


def test_only_trying_changes_nothing(agent, login, operator, reflect):
    login(operator).post(reflect, {"dry_run": "on"})
    assert GrowthRun.objects.get().is_dry_run


def test_settings_are_changed_through_the_form_and_refused_by_field(agent, login, operator):
    client = login(operator)
    url = page("settings", row_of(agent))
    form = {
        "mode": "request",
        "weekly_day": "Monday",
        "weekly_time": "05:15",
        "request_interface_path": "",
        "trainer_chat_id": "",
        "diary_days": "14",
        "memory_limit": "3",
        "proposal_ttl_days": "0",
    }
    answer = client.post(url, {**form, "weekly_time": "25:00", "diary_days": "99"})
    assert answer.status_code == 200 and "HH:MM" in answer.content.decode()
    assert settings.effective(agent).weekly_time == "03:00"
    before = row_of(agent).next_cycle_at
    assert client.post(url, form).status_code == 302
    held = settings.effective(agent)
    assert (held.mode, held.weekly_day, held.diary_days) == ("request", "Monday", 14)
    assert row_of(agent).next_cycle_at != before


def test_what_the_environment_holds_is_read_only_with_value_and_reason(agent, login, operator, monkeypatch):
    monkeypatch.setenv("GROWTH_MODE", "off")
    shown = login(operator).get(page("settings", row_of(agent))).content.decode()
    assert "off — set by GROWTH_MODE in the environment" in shown
    assert 'name="mode"' not in shown and 'name="diary_days"' in shown


def test_a_self_is_written_cleared_compared_and_restored(agent, login, operator):
    client = login(operator)
    by_hand = reverse("admin:growth_by_hand", args=[row_of(agent).pk])
    client.post(by_hand, {"content": "I mend teapots.", "likes": "glue\nrain", "dislikes": ""})
    first = GrowthState.objects.get(is_current=True)
    assert (first.content, first.likes, first.dislikes) == ("I mend teapots.", ["glue", "rain"], [])
    client.post(by_hand, {"clear": "1"})
    assert GrowthState.objects.get(is_current=True).content == ""
    shown = client.get(page("state", first), {"with": GrowthState.objects.get(is_current=True).pk})
    assert "<ins>I mend teapots.</ins>" in shown.content.decode()
    client.post(reverse("admin:growth_restore", args=[first.pk]))
    assert GrowthState.objects.get(is_current=True).content == "I mend teapots."


def test_a_trainer_sees_and_steers_only_their_agents(agent, trainer, login, make_agent, reflect):
    other = make_agent("minato")
    client = login(trainer)
    listed = client.get(reverse("admin:growth_growthsettings_changelist")).content.decode()
    assert "wren" in listed and "minato" not in listed
    assert client.post(reflect).status_code == 302
    hidden = reverse("admin:growth_reflect", args=[row_of(other).pk])
    assert client.post(hidden).status_code == 404
    assert client.get(page("settings", row_of(other))).status_code == 302
    assert not GrowthRun.objects.filter(agent=other).exists()


def test_who_trains_nobody_gets_nowhere(agent, trainer, login, reflect):
    client = login(trainer)
    agents.update(agent, {"trainers": []}, by=None, door="command")
    assert client.post(reflect).status_code in (302, 403)
    plain = people.ensure("pia")
    assert login(plain).post(reflect).status_code == 302
    assert not GrowthRun.objects.exists()


def test_every_list_and_page_opens(agent, login, operator):
    state = states.commit(
        agent, content="I <b>am</b>.", likes=None, dislikes=None, source="weekly", created_by="test"
    )
    client = login(operator)
    for noun in ("settings", "run", "state"):
        assert client.get(reverse(f"admin:growth_growth{noun}_changelist")).status_code == 200
    assert "I &lt;b&gt;am&lt;/b&gt;." in client.get(page("state", state)).content.decode()
    assert client.get(reverse("admin:growth_growthrun_change", args=[999])).status_code == 302
