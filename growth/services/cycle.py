"""Runs queued cycles: claim, look back, write, commit. Every end leaves its reason on the run."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from growth.lists import read_list, resolve
from growth.models import (
    OPEN_STATUSES,
    DeliveryState,
    GrowthRun,
    GrowthState,
    Mode,
    RunStatus,
    StateSource,
)
from growth.services import compose, context, proposals, runs, states
from growth.services.asking import AskingRunner
from growth.services.effective import EffectiveSettings, effective_of, lock, row_of
from growth.services.reasons import EXPLANATIONS
from growth.services.rewrite import PURPOSE, Rewrite, Written
from synth import faults
from synth.llm import is_configured
from synth.rowqueue import leases

WORKER = "growth.run_cycles"
UNSENT = {DeliveryState.NOBODY: "nobody_to_ask", DeliveryState.FAILED: "bad_target"}

faults.declare("growth.claimed", "a run is claimed and marked running, nothing is done yet")
faults.declare("growth.commit.before", "a new self and its run are written, the transaction is still open")
faults.declare("growth.commit.after", "a new self and its run are committed")


class CycleRunner(AskingRunner[GrowthRun]):
    """Queued cycles, one after the other; several workers share them."""

    name = "growth_run"
    task = runs.RUN_CYCLES
    reasons = EXPLANATIONS
    rings_ahead = True

    def rows(self) -> QuerySet[GrowthRun]:
        """Open runs with their agents."""
        return GrowthRun.objects.filter(status__in=OPEN_STATUSES).select_related("agent")

    def starting(self, row: GrowthRun) -> dict[str, Any]:
        """The first start stays: work taken up again sends the same words."""
        return {"started_at": row.started_at or now()}

    def fail(self, row: GrowthRun, reason: str, detail: str) -> None:
        """`running → failed`."""
        runs.finish(row, RunStatus.FAILED, reason, detail)

    def do(self, row: GrowthRun, kept: leases.Kept) -> None:
        """From context to end; the ends that need no writer come first."""
        faults.point("growth.claimed")
        settings = effective_of(row_of(row.agent))
        if row.agent.archived_at is not None:
            runs.finish(row, RunStatus.SKIPPED, "agent_archived")
        elif settings.mode == Mode.OFF and not row.is_forced:
            runs.finish(row, RunStatus.SKIPPED, "mode_off", mode=Mode.OFF)
        else:
            _look_back(row, settings, kept)


CYCLES = CycleRunner()
run_waiting = CYCLES.run_waiting
ring_if_waiting = CYCLES.ring_if_waiting
work = CYCLES.work


def _look_back(run: GrowthRun, settings: EffectiveSettings, kept: leases.Kept) -> None:
    found = context.build(run, settings)
    counts: dict[str, Any] = {
        "n_diary": len(found.entries),
        "n_diary_left_out": found.n_left_out,
        "n_memories": len(found.memories),
        "window_start_on": found.first_on,
        "window_end_on": found.last_on,
    }
    if not found.entries:
        runs.finish(run, RunStatus.SKIPPED, "no_diary", **counts)
        return
    written = _write(run, found, settings, kept, counts)
    kept.check()
    _conclude(run, written)


def _write(
    run: GrowthRun,
    found: context.Context,
    settings: EffectiveSettings,
    kept: leases.Kept,
    counts: dict[str, Any],
) -> Written:
    """Have the model write, or the composer where there is none."""
    if not is_configured(run.agent, PURPOSE):
        runs.note(run, writer="composer", **counts)
        return compose.write(run, found, settings)
    runs.note(run, writer="model", **counts)

    def on_step(n_calls: int, guards: list[dict[str, Any]], fingerprint: str) -> None:
        kept.check()
        values: dict[str, Any] = {"n_calls": n_calls, "guards": guards}
        runs.note(run, **values, **({"fingerprint": fingerprint} if fingerprint else {}))

    return Rewrite(run, found, settings, on_step).write(is_last_try=CYCLES.is_last_try(run))


def _conclude(run: GrowthRun, written: Written) -> None:
    """Apply, keep, or only show what was written, by the mode that holds now; one transaction."""
    at = now()
    with transaction.atomic():
        row = lock(run.agent)
        mode = effective_of(row).mode
        may_clear = mode == Mode.REQUEST
        likes, dislikes, warnings = _lists(written, row.agent.likes, row.agent.dislikes, may_clear)
        shown = asdict(written) | {"likes": likes, "dislikes": dislikes}
        shown["ungrounded"] = shown.pop("is_ungrounded")
        shown["warnings"] = [*written.warnings, *warnings]
        ended: dict[str, Any] = {"mode": mode, "result": shown}
        if run.is_dry_run:
            runs.finish(run, RunStatus.DRY_RUN, **ended)
        elif row.agent.archived_at is not None:
            runs.finish(run, RunStatus.SKIPPED, "agent_archived", **ended)
        elif mode == Mode.OFF and not run.is_forced:
            runs.finish(run, RunStatus.SKIPPED, "mode_off", **ended)
        elif mode == Mode.REQUEST:
            _propose(run, written, likes, dislikes, at, ended)
        else:
            state = _commit(run, written, likes, dislikes, at)
            runs.finish(run, RunStatus.APPLIED, state=state, **ended)
        faults.point("growth.commit.before")
    faults.point("growth.commit.after")


def _commit(
    run: GrowthRun, written: Written, likes: list[str], dislikes: list[str], at: datetime
) -> GrowthState:
    return states.commit(
        run.agent,
        content=written.self_growth,
        likes=likes,
        dislikes=dislikes,
        source=StateSource.WEEKLY,
        created_by=WORKER if run.created_by == "growth.start_due" else run.created_by,
        by=None,
        door="task",
        evidence=written.evidence,
        is_ungrounded=written.is_ungrounded,
        at=at,
    )


def _propose(
    run: GrowthRun,
    written: Written,
    likes: list[str],
    dislikes: list[str],
    at: datetime,
    ended: dict[str, Any],
) -> None:
    """Open a proposal; the run is undelivered when there is nobody to send it to, or no way."""
    proposal = proposals.open_from_run(
        run,
        content=written.self_growth,
        likes=likes,
        dislikes=dislikes,
        evidence=written.evidence,
        is_ungrounded=written.is_ungrounded,
        at=at,
    )
    reason = UNSENT.get(DeliveryState(proposal.delivery_status), "")
    status = RunStatus.UNDELIVERED if reason else RunStatus.PROPOSED
    runs.finish(run, status, reason, proposal.delivery_error, **ended)


def _lists(
    written: Written, likes: list[str], dislikes: list[str], may_clear: bool
) -> tuple[list[str], list[str], list[str]]:
    """The lists to live with: what was said, read against the live ones; notes on what was ignored.

    Only where a trainer decides may an empty list clear.
    """
    liked = read_list(written.likes, likes, may_clear=may_clear)
    disliked = read_list(written.dislikes, dislikes, may_clear=may_clear)
    new_likes, new_dislikes = resolve(liked.items, disliked.items)
    notes = [f"likes: {note}" for note in liked.notes] + [f"dislikes: {note}" for note in disliked.notes]
    return new_likes, new_dislikes, notes
