"""Runs queued cycles: claim, look back, write, commit. Every end leaves its reason on the run."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import structlog
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
from growth.services import compose, context, patience, proposals, runs, states
from growth.services.effective import EffectiveSettings, effective_of, lock, row_of
from growth.services.patience import BACKOFF_S, CRASH_BACKOFF_S, KNOCK_S, MAX_OWN_FAILURES
from growth.services.reasons import EXPLANATIONS
from growth.services.rewrite import PURPOSE, Rewrite, Unusable, Written
from synth import background, faults
from synth.errors import Conflict, DomainError
from synth.llm import LlmError, is_configured
from synth.rowqueue import leases

log = structlog.get_logger(__name__)
WORKER = "growth.run_cycles"
MAX_CRASHES = patience.MAX_CRASHES
UNSENT = {DeliveryState.NOBODY: "nobody_to_ask", DeliveryState.FAILED: "bad_target"}

faults.declare("growth.claimed", "a run is claimed and marked running, nothing is done yet")
faults.declare("growth.commit.before", "a new self and its run are written, the transaction is still open")
faults.declare("growth.commit.after", "a new self and its run are committed")


def run_waiting() -> int:
    """Run cycles until none is waiting; returns how many were worked on."""
    n_worked = 0
    began = time.monotonic()
    while rows := leases.claim(_open(), at=now(), limit=1):
        if _open().filter(leases.due(now())).exists():
            # Another thread may take the next one while this one waits for a model.
            background.ring(runs.RUN_CYCLES)
        work(rows[0])
        n_worked += 1
        if time.monotonic() - began > KNOCK_S:
            background.ring(runs.RUN_CYCLES)
            break
    return n_worked


def ring_if_waiting(at: datetime) -> None:
    """Wake the worker when a row is due: fresh, put off, or left by a dead worker."""
    if _open().filter(leases.due(at)).exists():
        background.ring(runs.RUN_CYCLES)


def work(run: GrowthRun) -> None:
    """Do one claimed run. Never raises: what breaks ends the run with a reason, or leaves it to its heir."""
    try:
        with leases.keep(run) as kept:
            started_at = run.started_at or now()
            leases.guarded(
                run, was={"status__in": OPEN_STATUSES}, status=RunStatus.RUNNING, started_at=started_at
            )
            faults.point("growth.claimed")
            _work(run, kept)
    except Exception as error:  # noqa: BLE001 - a run must end with a reason, whatever broke
        _settle(run, error)


def _open() -> QuerySet[GrowthRun]:
    return GrowthRun.objects.filter(status__in=OPEN_STATUSES).select_related("agent")


def _work(run: GrowthRun, kept: leases.Kept) -> None:
    """From context to end; the ends that need no writer come first."""
    settings = effective_of(row_of(run.agent))
    if run.attempt - run.n_host_failures > MAX_CRASHES:
        runs.finish(run, RunStatus.FAILED, "gave_up", f"{run.attempt} attempts")
    elif run.agent.archived_at is not None:
        runs.finish(run, RunStatus.SKIPPED, "agent_archived")
    elif settings.mode == Mode.OFF and not run.is_forced:
        runs.finish(run, RunStatus.SKIPPED, "mode_off", mode=Mode.OFF)
    else:
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

    return Rewrite(run, found, settings, on_step).write(is_last_try=run.n_host_failures >= len(BACKOFF_S))


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


def _settle(run: GrowthRun, error: Exception) -> None:
    """End a run after trouble; when even that fails, its lease runs out and it is taken up again."""
    try:
        _end(run, error)
    except Exception:  # noqa: BLE001 - the database may be what broke
        log.exception("growth_run_not_settled", run=run.pk)


def _end(run: GrowthRun, error: Exception) -> None:
    if isinstance(error, Conflict) and error.code == "lease_lost":
        log.warning("growth_run_taken_over", run=run.pk)
    elif isinstance(error, Unusable):
        runs.finish(run, RunStatus.FAILED, "bad_shape", error.detail)
    elif isinstance(error, LlmError) and error.retryable:
        _after_host_trouble(run, error)
    elif isinstance(error, DomainError) and error.code in EXPLANATIONS:
        runs.finish(run, RunStatus.FAILED, error.code, error.message)
    else:
        log.error("growth_run_broke", run=run.pk, exc_info=error)
        _after_crash(run, f"{type(error).__name__}: {error}"[:500])


def _after_host_trouble(run: GrowthRun, error: LlmError) -> None:
    """The host's trouble puts the run off three times, then it fails."""
    if run.n_host_failures >= len(BACKOFF_S):
        runs.finish(run, RunStatus.FAILED, "llm_unreachable", error.message)
        return
    wait_s = max(BACKOFF_S[run.n_host_failures], error.retry_after_s or 0)
    _put_off(run, wait_s, error.message, n_host_failures=run.n_host_failures + 1)


def _after_crash(run: GrowthRun, detail: str) -> None:
    """Our own failure: twice more, then the run fails."""
    if run.attempt - run.n_host_failures >= MAX_OWN_FAILURES:
        runs.finish(run, RunStatus.FAILED, "internal_error", detail)
    else:
        _put_off(run, CRASH_BACKOFF_S, detail)


def _put_off(run: GrowthRun, wait_s: float, detail: str, **values: Any) -> None:
    due_at = now() + timedelta(seconds=wait_s)
    leases.release(run, due_at, status=RunStatus.QUEUED, detail=detail, **values)
