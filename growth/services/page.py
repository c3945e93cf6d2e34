"""What the admin pages of growth show, as plain values; reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.urls import NoReverseMatch, reverse

from growth import selectors
from growth.clock import zone_of
from growth.models import OPEN_STATUSES, GrowthRun, GrowthSettings, GrowthState, RunStatus
from growth.services import diff, proposals, runs
from growth.services.effective import effective_of
from growth.services.reasons import EXPLANATIONS
from synth.text.sentences import sentences

if TYPE_CHECKING:
    from synth.models import LlmCall

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
    RunStatus.FAILED: "growth-bad",
    RunStatus.MISSED: "growth-warn",
    RunStatus.SKIPPED: "growth-warn",
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
            "proposal": proposals.pending(agent),
            "typed": None,
            "error": "",
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
            "progress": run_progress(run),
            "progress_url": reverse("admin:growth_run_progress", args=[run.pk]),
            "evidence": evidence_lines(result.get("self_growth", ""), result.get("evidence", [])),
            "calls": call_lines(selectors.calls(run)),
            "proposals": list(run.proposals.order_by("pk")),
            "settings_pk": settings_pk(run.agent_id),
        }
    }


def run_progress(run: GrowthRun) -> dict[str, Any]:
    """How far a run is, as JSON: `{is_open, percent, steps: [{text, css}], lines: [text]}`."""
    status = RunStatus(run.status)
    percent = {RunStatus.QUEUED: 5, RunStatus.RUNNING: min(90, 30 + 20 * run.n_calls)}.get(status, 100)
    return {
        "is_open": status in OPEN_STATUSES,
        "percent": percent,
        "steps": _steps(run, status),
        "lines": guard_lines(run.guards),
    }


def guard_lines(guards: Sequence[dict[str, Any]]) -> list[str]:
    """Verdicts as one line each."""
    return [
        f"{one.get('step', '')} · {one.get('guard', '')}: {one.get('verdict', '')}"
        + (f" ({one['why']})" if one.get("why") else "")
        for one in guards
    ]


def call_lines(calls: Sequence[LlmCall]) -> list[dict[str, Any]]:
    """Calls to models with the link to what exactly was sent."""
    return [{"call": call, "url": _link("synth_llmcall", call.pk)} for call in calls]


def settings_pk(agent_id: int) -> int:
    """The key of an agent's growth page."""
    return GrowthSettings.objects.get(agent_id=agent_id).pk


def state_page(state: GrowthState, other: GrowthState | None) -> dict[str, Any]:
    """The context of a state's page, under `state_page`; without `other` the self before it is compared."""
    others = list(GrowthState.objects.filter(agent_id=state.agent_id).exclude(pk=state.pk).order_by("-pk"))
    before = next((one for one in others if one.pk < state.pk), None)
    chosen = other or before or (others[-1] if others else None)
    return {
        "state_page": {
            "state": state,
            "settings_pk": settings_pk(state.agent_id),
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
    return {"pk": pk, "url": _link("synth_diaryentry", pk)}


def _link(page: str, pk: Any) -> str:
    """The address of a row's page in the admin site, blank where there is none."""
    try:
        return reverse(f"admin:{page}_change", args=[pk])
    except NoReverseMatch:
        return ""


def _steps(run: GrowthRun, status: RunStatus) -> list[dict[str, str]]:
    """The way of a run: waiting, reading and writing, done."""
    names = ["waiting for a worker", "reading the week and writing", "done"]
    at = {RunStatus.QUEUED: 0, RunStatus.RUNNING: 1}.get(status, 2)
    if run.n_host_failures and status == RunStatus.QUEUED:
        names[0] = f"the model's host did not answer ({run.n_host_failures} ×); trying again soon"
    names[2] = run.get_status_display() if at == 2 else names[2]
    return steps(names, at)


def steps(names: Sequence[str], at: int) -> list[dict[str, str]]:
    """Steps with what the page makes of each; `at` counts from 0, the last one is done when reached."""
    end = len(names) - 1
    css = ["is-done" if n < at or at == end else "is-now" if n == at else "" for n in range(len(names))]
    return [{"text": name, "css": mark} for name, mark in zip(names, css, strict=True)]
