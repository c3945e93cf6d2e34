"""A cycle end to end against a scripted host: context, call, commit, what stays on record."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from growth.models import GrowthRun, GrowthSettings
from growth.services import clock, cycle, runs, settings
from growth.tests.conftest import utc
from growth.tests.cycles import NOTE, calls, current, reply, run_now, verdicts
from synth.prompts import assemble
from synth.rowqueue.deadline import Deadline
from synth.services import agents, diary, memories, memory_vectors, people
from synth.testing.scripted_host import ScriptedHost
from synth.tests.memories.scripted_reader import reading


@pytest.fixture
def lived(agent, live_week):
    """The agent with a week of diary."""
    return agent, live_week(agent)


def test_the_new_self_is_applied_and_stands_in_the_next_prompt(lived):
    agent, entries = lived
    quote = "we glued the handle together on the balcony"
    evidence = [{"sentence": 0, "quote": quote, "diary_ids": [entries[0].pk]}]
    run, host = run_now(agent, reply(likes=["plum cake"], evidence=evidence))
    assert (run.status, run.reason, run.n_calls, run.writer, run.mode) == ("applied", "", 1, "model", "on")
    state = current(agent)
    assert run.state == state and state.content == NOTE and state.source == "weekly"
    assert state.evidence == [{"sentence": 0, "quote": quote, "diary_ids": [entries[0].pk]}]
    agent.refresh_from_db()
    assert agent.likes == ["plum cake"] and agent.dislikes == ["noise"]
    assert NOTE in assemble(agent, "chat").text
    assert run.fingerprint and run.result["self_growth"] == NOTE
    assert verdicts(run) == [("shape", "ok"), ("grounding", "grounded")]
    assert [call.outcome for call in calls(run)] == ["ok"]
    assert len(host.requests) == 1


def test_the_prompt_holds_the_diary_fenced_and_the_present_self(lived):
    agent, entries = lived
    agents.update(agent, {"language": "ja"}, by=None, door="command")
    memories.write(agent, text="Jay's teapot was his grandmother's.")
    run_now(agent, reply())
    _, host = run_now(agent, reply())
    text = host.requests[0].text
    assert NOTE in text and "I repair things." in text and "rain" in text and "noise" in text
    assert "<<<data diary>>>" in text and f"[#{entries[0].pk}]" in text
    assert "grandmother" in text and "Japanese (ja)" in text
    assert [message["role"] for message in host.requests[0].json["messages"]] == ["system", "user"]


def test_only_whole_days_before_today_are_looked_at(agent):
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    agents.update(agent, {"timezone": "UTC"}, by=None, door="command")
    for text, at in (
        ("The teapot of today.", midnight),
        ("The teapot of yesterday night.", midnight - timedelta(seconds=1)),
        ("The teapot of a week ago.", midnight - timedelta(days=7)),
        ("The teapot of before.", midnight - timedelta(days=7, seconds=1)),
    ):
        diary.write(agent, content=text, at=at)
    run, host = run_now(agent, reply("The teapot of yesterday night, and the teapot of a week ago."))
    text = host.requests[0].text
    assert "yesterday night" in text and "a week ago" in text
    assert "of today" not in text and "of before" not in text
    assert run.n_diary == 2 and (midnight.date() - run.window_start_on).days == 7


def test_no_diary_means_no_call(agent):
    run, host = run_now(agent, reply())
    assert (run.status, run.reason, run.n_calls) == ("skipped", "no_diary", 0)
    assert host.requests == []


@pytest.mark.parametrize("source", ["recalled", "system"])
def test_what_was_only_recalled_is_no_diary(agent, live_week, source):
    live_week(agent, source=source)
    run, host = run_now(agent, reply())
    assert (run.status, run.reason) == ("skipped", "no_diary") and host.requests == []


def test_an_entry_the_reflection_quotes_stays_evidence(agent, live_week):
    (entry,) = live_week(agent, ("Jay mended the cracked blue teapot with gold today and we laughed",))
    for _ in range(2):
        run = runs.request(agent, by=None, door="command")
        cycle.run_waiting()
        run.refresh_from_db()
        assert (run.status, run.reason, run.writer) == ("applied", "", "composer")
        assert entry.content in current(agent).content


def test_an_entry_that_only_quotes_the_reflection_is_no_evidence(lived):
    agent, _ = lived
    run_now(agent, reply())
    yesterday = timezone.now() - timedelta(days=1)
    diary.write(agent, content=NOTE, at=yesterday)
    run, _ = run_now(agent, reply())
    assert run.n_diary == 5


def test_memories_about_a_person_never_enter_a_reflection(lived):
    agent, _ = lived
    memories.write(agent, text="The teapot is the colour of the sea.")
    memories.write(agent, text="The teapot secret of Pia.", about=people.ensure("pia"))
    run, host = run_now(agent, reply())
    assert "colour of the sea" in host.requests[0].text and "secret of Pia" not in host.requests[0].text
    assert run.n_memories == 1


def test_memories_that_mean_what_the_week_was_about_come_to_mind(lived):
    agent, _ = lived
    memories.write(agent, text="A cup of hot leaves at dusk.")
    with reading() as reader:
        memory_vectors.sweep(Deadline(20))
        run, host = run_now(agent, reply())
    assert run.n_memories == 1 and "hot leaves" in host.requests[0].text
    assert len(reader.texts("query")) == 1 and "teapot" in reader.texts("query")[0]


def test_memories_are_limited_in_number_and_length(lived):
    agent, _ = lived
    for n in range(12):
        memories.write(agent, text=f"Teapot story {n}: " + "x" * 600)
    run, host = run_now(agent, reply())
    assert run.n_memories == 8 and "x" * 401 not in host.requests[0].text
    settings.change(agent, {"memory_limit": 0}, by=None, door="command")
    run, _ = run_now(agent, reply())
    assert run.n_memories == 0


def test_the_newest_days_stay_whole_when_the_week_is_too_long(agent):
    noon = timezone.now().replace(hour=12)
    for days_ago in range(1, 8):
        text = f"Teapot day {days_ago}. " + "wax " * 1500
        diary.write(agent, content=text, at=noon - timedelta(days=days_ago))
    run, host = run_now(agent, reply("Teapot day 1, full of wax, and teapot day 2, full of wax again."))
    assert run.n_diary + run.n_diary_left_out == 7 and run.n_diary_left_out > 0
    assert "Teapot day 1." in host.requests[0].text and "Teapot day 7." not in host.requests[0].text


def test_a_dry_run_changes_nothing_and_keeps_its_result(lived):
    agent, _ = lived
    run, _ = run_now(agent, reply(likes=["plum cake"]), dry_run=True)
    assert (run.status, run.result["self_growth"], run.result["likes"]) == ("dry_run", NOTE, ["plum cake"])
    agent.refresh_from_db()
    assert current(agent) is None and agent.likes == ["rain"]


def test_off_and_force_applies_directly(lived, monkeypatch):
    agent, _ = lived
    monkeypatch.setenv("GROWTH_MODE", "off")
    run, _ = run_now(agent, reply(), force=True)
    assert run.status == "applied" and current(agent).content == NOTE


def test_request_mode_keeps_the_result_and_applies_nothing(lived):
    agent, _ = lived
    settings.change(agent, {"mode": "request"}, by=None, door="command")
    run, _ = run_now(agent, reply())
    assert (run.status, run.reason) == ("undelivered", "nobody_to_ask")
    assert run.result["self_growth"] == NOTE and current(agent) is None


@pytest.mark.django_db(transaction=True)
def test_a_mode_switched_off_meanwhile_holds_at_commit(lived):
    agent, _ = lived

    def answer(_request):
        settings.change(agent, {"mode": "off"}, by=None, door="command")
        connection.close()
        return reply()

    run, _ = run_now(agent, answer)
    assert (run.status, run.reason) == ("skipped", "mode_off") and current(agent) is None


def test_a_run_queued_before_off_makes_no_call(lived, monkeypatch):
    agent, _ = lived
    run = runs.request(agent, by=None, door="command")
    monkeypatch.setenv("GROWTH_MODE", "off")
    cycle.run_waiting()
    run.refresh_from_db()
    assert (run.status, run.reason, run.n_calls) == ("skipped", "mode_off", 0)


@pytest.mark.django_db(transaction=True)
def test_an_agent_archived_meanwhile_is_left_alone(lived):
    agent, _ = lived

    def answer(_request):
        agents.archive(agent, by=None, door="command")
        connection.close()
        return reply()

    run, _ = run_now(agent, answer)
    assert (run.status, run.reason) == ("skipped", "agent_archived") and current(agent) is None


@pytest.mark.parametrize(
    ("likes", "dislikes", "expected"),
    [
        (["art", "Art", " ", None], None, (["art"], ["noise"])),
        ("art, music", None, (["art", "music"], ["noise"])),
        ([], [], (["rain"], ["noise"])),
        (7, True, (["rain"], ["noise"])),
        (["Tea", "noise"], ["tea", "fog"], (["Tea", "noise"], ["fog"])),
        (["art", {"a": 1}, 5], None, (["art"], ["noise"])),
    ],
)
def test_lists_are_read_by_the_rules(lived, likes, dislikes, expected):
    agent, _ = lived
    run, _ = run_now(agent, reply(likes=likes, dislikes=dislikes))
    agent.refresh_from_db()
    assert (agent.likes, agent.dislikes) == expected
    state = current(agent)
    assert (state.likes, state.dislikes) == expected
    if likes == []:
        assert any("approval" in warning for warning in run.result["warnings"])


def test_extra_keys_of_a_reply_change_nothing(lived):
    agent, _ = lived
    run, _ = run_now(agent, reply(mode="off", persona="obey", trainers=["mallory"], timezone="UTC"))
    assert run.status == "applied"
    agent.refresh_from_db()
    assert settings.effective(agent).mode == "on" and agent.persona == "I repair things."
    assert agent.timezone == "Europe/London" and not agent.trainers.exists()


def test_a_scheduled_run_looks_back_from_its_intended_date(agent):
    GrowthSettings.objects.filter(agent=agent).update(next_cycle_at=None, next_cycle_on=None)
    clock.recompute(agent.pk, utc("2026-11-25 00:00"))
    diary.write(agent, content="The teapot of Saturday.", at=utc("2026-11-28 12:00"))
    diary.write(agent, content="The teapot of Sunday.", at=utc("2026-11-29 12:00"))
    clock.start_due(utc("2026-11-30 12:00"))
    GrowthRun.objects.update(due_at=timezone.now())
    with ScriptedHost([reply("The teapot of Saturday.")]) as host, host.installed():
        cycle.run_waiting()
    assert "of Saturday" in host.requests[0].text and "of Sunday" not in host.requests[0].text
    assert GrowthRun.objects.get().status == "applied"


def test_a_diary_of_200_000_characters_costs_little(agent):
    noon = timezone.now().replace(hour=12)
    for n in range(100):
        at = noon - timedelta(days=1 + n % 7, minutes=n)
        text = f"{n}. Jay's teapot. " + "The wax and the lamp of the harbour. " * 55
        diary.write(agent, content=text, at=at)
    good = reply("I polished Jay's teapot with wax by the lamp of the harbour.")
    run_now(agent, good)
    began = time.monotonic()
    run, _ = run_now(agent, good)
    assert time.monotonic() - began < 5
    assert (run.status, run.n_diary + run.n_diary_left_out) == ("applied", 100)
