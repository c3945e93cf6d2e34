"""Without a model a rule writes; trouble of the host is put off three times; refusals keep their reason."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from synth.models import DiaryEntry, Sitting
from synth.services import agents, sittings
from synth.testing.scripted_host import ScriptedHost
from synth.tests.sittings.conftest import add

DOWN = {"status": 503}


def test_without_a_model_the_entry_says_only_what_is_in_the_rows(talked, settings):
    settings.LLM_BASE_URL = None
    add(talked, timezone.now() - timedelta(minutes=50), ("user", "Thank\nyou."), ("assistant", "Any time."))
    sittings.end_due(timezone.now())
    sittings.run_waiting()
    assert DiaryEntry.objects.get().content == (
        "I talked with pia: 2 messages from them, 2 answers from me. They began with “My kettle is blue and "
        "it leaks.”. The last thing they wrote was “Thank you.”."
    )


def test_in_other_languages_the_rule_only_quotes(talked, agent, settings):
    settings.LLM_BASE_URL = None
    agents.update(agent, {"language": "ja"}, by=None, door="command")
    sittings.end_due(timezone.now())
    sittings.run_waiting()
    assert DiaryEntry.objects.get().content == "pia: “My kettle is blue and it leaks.”"


def test_a_host_that_is_down_puts_it_off_three_times_then_it_failed(talked):
    waits = []
    with ScriptedHost([DOWN], repeat_last=True) as host, host.installed():
        sittings.end_due(timezone.now())
        row = Sitting.objects.get()
        for _ in range(4):
            Sitting.objects.update(due_at=timezone.now())
            sittings.run_waiting()
            row.refresh_from_db()
            if row.status == "queued":
                waits.append(round((row.due_at - timezone.now()).total_seconds() / 60))
    assert waits == [1, 5, 15] and len(host.requests) == 4
    assert (row.status, row.reason) == ("failed", "llm_unreachable") and not DiaryEntry.objects.exists()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"content": "Pia told", "finish_reason": "length"}, "cut"),
        ("  ", "bad_shape"),
        ("x" * 4_001, "bad_shape"),
        ('{"actions": [{"type": "bell_ring", "payload": {}}]}', "bad_shape"),
        ({"status": 400}, "llm_refused"),
        ({"content": "", "finish_reason": "content_filter"}, "content_filter"),
    ],
)
def test_what_is_no_entry_is_not_kept(talked, reply, reason):
    with ScriptedHost([reply]) as host, host.installed():
        sittings.end_due(timezone.now())
        sittings.run_waiting()
    row = Sitting.objects.get()
    assert (row.status, row.reason) == ("failed", reason) and not DiaryEntry.objects.exists()


def test_an_agent_out_of_tokens_says_so(talked):
    with ScriptedHost(["Never asked."]) as host, host.installed(LLM_DAILY_TOKENS=1):
        sittings.end_due(timezone.now())
        sittings.run_waiting()
        Sitting.objects.all().delete()
        add(talked, timezone.now() - timedelta(minutes=45), ("user", "So?"), ("assistant", "So."))
        sittings.end_due(timezone.now())
        sittings.run_waiting()
    assert Sitting.objects.get().reason == "spend_cap"


def test_a_failed_one_is_not_taken_up_again(talked):
    Sitting.objects.create(
        dialogue=talked, until=talked.at, status="failed", reason="cut", due_at=timezone.now()
    )
    assert sittings.end_due(timezone.now() + timedelta(hours=1)) == 0 and sittings.run_waiting() == 0
