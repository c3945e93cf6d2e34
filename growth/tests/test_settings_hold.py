"""What holds for an agent: environment over row over default, judged the same at every door."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from growth.models import GrowthSettings
from growth.services import settings
from synth.errors import Invalid, Refused


def put(agent, **values):
    GrowthSettings.objects.filter(agent=agent).update(**values)
    return settings.effective(agent)


def test_the_defaults_hold_without_row_or_environment(agent):
    held = settings.effective(agent)
    assert (held.mode, held.weekly_day, held.weekly_time) == ("on", "Sunday", "03:00")
    assert (held.diary_days, held.memory_limit, held.proposal_ttl_days) == (7, 8, 14)
    assert held.overridden_by_env == [] and held.problems == {}


def test_the_environment_wins_at_the_moment_of_use(agent, monkeypatch):
    settings.change(agent, {"mode": "on", "diary_days": 3}, by=None, door="command")
    monkeypatch.setenv("GROWTH_MODE", " Off ")
    monkeypatch.setenv("GROWTH_DIARY_DAYS", "14")
    held = settings.effective(agent)
    assert (held.mode, held.diary_days, held.overridden_by_env) == ("off", 14, ["mode", "diary_days"])
    monkeypatch.delenv("GROWTH_MODE")
    assert settings.effective(agent).mode == "on"


def test_a_blank_variable_counts_as_unset(agent, monkeypatch):
    monkeypatch.setenv("GROWTH_MODE", "  ")
    assert settings.effective(agent).overridden_by_env == []


@pytest.mark.parametrize(
    ("variable", "value", "field", "instead"),
    [
        ("GROWTH_MODE", "maybe", "mode", "off"),
        ("GROWTH_WEEKLY_DAY", "Sun", "weekly_day", "Sunday"),
        ("GROWTH_WEEKLY_TIME", "24:00", "weekly_time", "03:00"),
        ("GROWTH_DIARY_DAYS", "0", "diary_days", 7),
        ("GROWTH_MEMORY_LIMIT", "fifty", "memory_limit", 8),
    ],
)
def test_an_unfit_variable_is_replaced_with_one_warning(agent, monkeypatch, variable, value, field, instead):
    monkeypatch.setenv(variable, value)
    with capture_logs() as logs:
        held = [settings.effective(agent) for _ in range(3)][-1]
    assert getattr(held, field) == instead
    assert field in held.problems
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["growth_setting_ignored"]


def test_an_unfit_row_is_replaced_too(agent):
    assert put(agent, mode="sometimes").mode == "off"
    assert put(agent, weekly_time="3 am").weekly_time == "03:00"
    assert put(agent, diary_days=99).diary_days == 7


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "maybe"),
        ("mode", ""),
        ("mode", None),
        ("mode", True),
        ("weekly_day", "Sun"),
        ("weekly_day", "0"),
        ("weekly_time", "24:00"),
        ("weekly_time", "3:00"),
        ("weekly_time", "03:60"),
        ("weekly_time", "\uff10\uff13:\uff10\uff10"),
        ("diary_days", 0),
        ("diary_days", 61),
        ("diary_days", True),
        ("diary_days", 7.5),
        ("diary_days", "seven"),
        ("memory_limit", -1),
        ("memory_limit", 51),
        ("request_interface_path", "x" * 201),
        ("trainer_chat_id", 5),
        ("trainer_chat_id", "a\x00b"),
        ("pending_proposal", "x"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_field(agent, field, value):
    with pytest.raises(Invalid) as refused:
        settings.change(agent, {field: value}, by=None, door="command")
    assert refused.value.field == field
    assert settings.effective(agent).mode == "on"


def test_any_case_and_spaces_are_taken(agent):
    settings.change(agent, {"mode": "REQUEST", "weekly_day": " tueSDAY "}, by=None, door="command")
    held = settings.effective(agent)
    assert (held.mode, held.weekly_day) == ("request", "Tuesday")


def test_what_the_environment_holds_is_not_changed_silently(agent, monkeypatch):
    monkeypatch.setenv("GROWTH_MODE", "off")
    with pytest.raises(Refused) as refused:
        settings.change(agent, {"mode": "on"}, by=None, door="command")
    assert (refused.value.code, refused.value.field) == ("overridden_by_env", "mode")
    settings.change(agent, {"mode": "off", "diary_days": 9}, by=None, door="command")
    assert settings.effective(agent).diary_days == 9


def test_a_change_is_audited_and_replans(agent):
    from django.apps import apps

    before = GrowthSettings.objects.get(agent=agent).next_cycle_at
    settings.change(agent, {"weekly_time": "04:30"}, by=None, door="command")
    assert GrowthSettings.objects.get(agent=agent).next_cycle_at != before
    entry = apps.get_model("synth", "AuditEntry").objects.filter(action="growth_settings_change").get()
    assert (entry.before, entry.after) == ({"weekly_time": "03:00"}, {"weekly_time": "04:30"})
