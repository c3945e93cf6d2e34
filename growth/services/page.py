"""What the admin pages of growth show, as plain values; reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import NoReverseMatch, reverse

from growth import selectors
from growth.clock import zone_of
from growth.models import OPEN_STATUSES, GrowthRun, GrowthSettings, GrowthState, RunStatus
from growth.services import diff, runs
from growth.services.effective import effective_of
from growth.services.reasons import EXPLANATIONS
from synth.text.sentences import sentences

HEADLINES = {
    RunStatus.QUEUED: "is about to reflect",
    RunStatus.RUNNING: "is reflecting …",
    RunStatus.APPLIED: "has reflected",
    RunStatus.PROPOSED: "has reflected and asks a trainer",
    RunStatus.DRY_RUN: "has tried a reflection",
    RunStatus.SKIPPED: "did not reflect",
    RunStatus.FAILED: "could not reflect",
    RunStatus.MISSED: "missed this week's reflection",
    RunStatus.UNDELIVERED: "has reflected, and nobody was asked yet",
}
TROUBLE = {
    RunStatus.FAILED: "growth-bad", RunStatus.MISSED: "growth-warn", RunStatus.SKIPPED: "growth-warn",
    RunStatus.UNDELIVERED: "growth-warn",
}


def settings_page(row: GrowthSettings) -> dict[str, Any]:
    """The context of an agent's growth page, under `growth`."""
    agent = row.agent
    local = row.next_cycle_at.astimezone(zone_of(agent.timezone)) if row.next_cycle_at else None
    return {
        "growth": {
            "row": row,
            "agent": agent,
            "settings": effective_of(row),
            # Without its zone, so that the template shows the agent's wall time.
            "next_at": local.replace(tzinfo=None) if local else None,
            "current": selectors.current(agent.pk),
            "open_run": runs.open_run(agent.pk),
            "last_run": selectors.last_run(agent.pk),
        }
    }


def run_page(run: GrowthRun) -> dict[str, Any]:
    """The context of a run's page, under `run_page`."""
    status = RunStatus(run.status)
    result = run.result or {}
    return {
        "run_page": {
            "run": run,
            "is_open": status in OPEN_STATUSES,
            "headline": HEADLINES[status],
            "explanation": EXPLANATIONS.get(run.reason, ""),
            "css": TROUBLE.get(status, "growth-dim"),
            "steps": _steps(run, status),
            "evidence": evidence_lines(result.get("self_growth", ""), result.get("evidence", [])),
            "calls": list(selectors.calls(run)),
            "settings_pk": GrowthSettings.objects.get(agent_id=run.agent_id).pk,
        }
    }


def state_page(state: GrowthState, other: GrowthState | None) -> dict[str, Any]:
    """The context of a state's page, under `state_page`; without `other` the self before it is compared."""
    others = list(GrowthState.objects.filter(agent_id=state.agent_id).exclude(pk=state.pk).order_by("-pk"))
    before = next((one for one in others if one.pk < state.pk), None)
    chosen = other or before or (others[-1] if others else None)
    return {
        "state_page": {
            "state": state,
            "others": others,
            "other": chosen,
            "diff": diff.between(chosen, state) if chosen else None,
            "evidence": evidence_lines(state.content, state.evidence),
        }
    }


def evidence_lines(content: str, evidence: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each sentence with the quotes it rests on and links to their diary entries."""
    if not evidence:
        return []
    return [
        {
            "sentence": sentence,
            "quotes": [
                {"text": one["quote"], "links": [_diary_link(pk) for pk in one["diary_ids"]]}
                for one in evidence
                if one["sentence"] == n
            ],
        }
        for n, sentence in enumerate(sentences(content))
    ]


def _diary_link(pk: int) -> dict[str, Any]:
    try:
        return {"pk": pk, "url": reverse("admin:synth_diaryentry_change", args=[pk])}
    except NoReverseMatch:
        return {"pk": pk, "url": ""}


def _steps(run: GrowthRun, status: RunStatus) -> list[dict[str, str]]:
    """The way of a run: waiting, reading and writing, done."""
    names = ["waiting for a worker", "reading the week and writing", "done"]
    at = {RunStatus.QUEUED: 0, RunStatus.RUNNING: 1}.get(status, 2)
    if run.n_host_failures and status == RunStatus.QUEUED:
        names[0] = f"the model's host did not answer ({run.n_host_failures} ×); trying again soon"
    names[2] = run.get_status_display() if at == 2 else names[2]
    css = ["is-done" if n < at or at == 2 else "is-now" if n == at else "" for n in range(3)]
    return [{"text": name, "css": mark} for name, mark in zip(names, css, strict=True)]
