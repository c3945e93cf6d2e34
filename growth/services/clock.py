"""The weekly clock: rows of what is due become queued runs, once per agent and intended week.

`next_cycle_at` and `next_cycle_on` of a settings row hold the planned cycle; both are null while the mode is
off or the agent is archived. Rules are in `growth.clock`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from growth import clock as rules
from growth.models import OPEN_STATUSES, GrowthRun, GrowthSettings, RunStatus, Trigger
from growth.services.effective import effective_of, environment
from synth import faults, selectors

log = structlog.get_logger(__name__)
BATCH = 500
BAD_ROW_DELAY = timedelta(hours=1)
WORKER = "growth.start_due"
_seen_environment: tuple[str, ...] | None = None

faults.declare("growth.start.before", "a due week is about to become a queued run")
faults.declare("growth.start.after", "the queued run of a due week is committed")


def start_due(at: datetime) -> int:
    """Queue the runs of every agent whose week is due; returns how many. One bad row never stops the scan."""
    recompute_if_environment_changed(at)
    due = GrowthSettings.objects.filter(next_cycle_at__lte=at).order_by("next_cycle_at")
    n_started = 0
    for pk in list(due.values_list("pk", flat=True)[:BATCH]):
        try:
            n_started += _start_row(pk, at)
        except Exception:  # noqa: BLE001 - whatever is wrong with one agent, the others must reflect
            log.exception("growth_clock_row_failed", settings=pk)
            _push_on(pk, at)
    return n_started


def recompute_if_environment_changed(at: datetime) -> None:
    """Replan every agent at the first tick of a process, and when an overriding variable changed since."""
    global _seen_environment
    found = environment()
    if found != _seen_environment:
        recompute_all(at)
        _seen_environment = found


def recompute_all(at: datetime) -> None:
    """Give every agent a settings row and replan each; what is due already stays due."""
    bare = selectors.agents().filter(growth_settings__isnull=True)
    rows = [GrowthSettings(agent_id=pk) for pk in bare.values_list("pk", flat=True)]
    GrowthSettings.objects.bulk_create(rows, batch_size=1000, ignore_conflicts=True)
    for pk in list(GrowthSettings.objects.values_list("pk", flat=True)):
        try:
            with transaction.atomic():
                row = _locked(pk)
                if row is not None:
                    replan_row(row, at)
        except Exception:  # noqa: BLE001 - one bad row must not keep the others from being replanned
            log.exception("growth_clock_row_failed", settings=pk)


def recompute(agent_id: int, at: datetime) -> None:
    """Replan one agent, making its settings row if there is none (events of the core end here)."""
    with transaction.atomic():
        GrowthSettings.objects.get_or_create(agent_id=agent_id)
        locked = GrowthSettings.objects.select_for_update(of=("self",)).select_related("agent")
        replan_row(locked.get(agent_id=agent_id), at)


def replan_row(row: GrowthSettings, at: datetime) -> None:
    """Bring the planned cycle of a locked row in step with its settings, zone and finished weeks."""
    settings = effective_of(row)
    if settings.mode == "off" or row.agent.archived_at is not None:
        _plan(row, None)
        return
    weekday = rules.parse_weekday(settings.weekly_day)
    at_time = rules.parse_time(settings.weekly_time)
    cycle = rules.replan(_planned(row), at, weekday, at_time, row.agent.timezone, _taken(row.agent_id))
    _plan(row, cycle)


def _start_row(pk: int, at: datetime) -> int:
    """Turn what is due of one row into runs, oldest first; the row moves on in the same transaction."""
    n_started = 0
    with transaction.atomic():
        row = _locked(pk)
        if row is None or row.next_cycle_at is None or row.next_cycle_at > at:
            return 0
        replan_row(row, at)
        planned = _planned(row)
        if planned is None or planned.at > at:
            return 0
        settings = effective_of(row)
        due, following = rules.due_cycles(
            planned,
            at,
            rules.parse_weekday(settings.weekly_day),
            rules.parse_time(settings.weekly_time),
            row.agent.timezone,
            _taken(row.agent_id),
        )
        for item in due:
            if not _save_run(row.agent_id, item, at):
                following = item.cycle
                break
            n_started += not item.is_missed
        _plan(row, following)
        faults.point("growth.start.before")
    faults.point("growth.start.after")
    return n_started


def _save_run(agent_id: int, due: rules.Due, at: datetime) -> bool:
    """Save the run of one due cycle; False when another run of the agent is open and this one must wait."""
    run = GrowthRun(
        agent_id=agent_id,
        trigger=Trigger.SCHEDULED,
        created_by=WORKER,
        created_at=at,
        due_at=at,
        intended_on=due.cycle.on,
        week=rules.week_label(due.cycle.week),
    )
    if due.is_missed:
        late_h = int((at - due.cycle.at).total_seconds() // 3600)
        run.status, run.reason, run.finished_at = RunStatus.MISSED, "missed", at
        run.detail = f"{late_h} hours late when the server looked; up to 48 hours late it would have run"
    elif GrowthRun.objects.filter(agent_id=agent_id, status__in=OPEN_STATUSES).exists():
        return False
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        # Since we looked, somebody saved this week (it is done) or opened a run (it is waited for).
        return _scheduled(agent_id).filter(week=run.week).exists()
    return True


def _scheduled(agent_id: int) -> QuerySet[GrowthRun]:
    return GrowthRun.objects.filter(agent_id=agent_id, trigger=Trigger.SCHEDULED)


def _locked(pk: int) -> GrowthSettings | None:
    """The row, locked; None when another process holds it."""
    rows = GrowthSettings.objects.select_for_update(of=("self",), skip_locked=True).select_related("agent")
    return rows.filter(pk=pk).first()


def _planned(row: GrowthSettings) -> rules.Cycle | None:
    if row.next_cycle_at is None or row.next_cycle_on is None:
        return None
    return rules.Cycle(row.next_cycle_at, row.next_cycle_on)


def _plan(row: GrowthSettings, cycle: rules.Cycle | None) -> None:
    at, on = (cycle.at, cycle.on) if cycle else (None, None)
    if (row.next_cycle_at, row.next_cycle_on) != (at, on):
        row.next_cycle_at, row.next_cycle_on = at, on
        row.save(update_fields=["next_cycle_at", "next_cycle_on"])


def _taken(agent_id: int) -> set[rules.Week]:
    """ISO weeks of the agent that have their scheduled run already."""
    labels = _scheduled(agent_id).values_list("week", flat=True)
    return {(int(label[:4]), int(label[6:])) for label in labels if label}


def _push_on(pk: int, at: datetime) -> None:
    """Look at a bad row again in an hour; its intended date stays, so its week is not lost."""
    GrowthSettings.objects.filter(pk=pk, next_cycle_at__lte=at).update(next_cycle_at=at + BAD_ROW_DELAY)
