"""Asking for a cycle now, and moving a run to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils.timezone import now

from growth.models import OPEN_STATUSES, GrowthRun, RunStatus, Trigger
from growth.services.effective import effective
from synth import background, faults
from synth.errors import Conflict, Invalid, Refused
from synth.options import FALSE, TRUE
from synth.rowqueue import leases
from synth.services import audit

if TYPE_CHECKING:
    from synth.models import Agent, Person

RUN_CYCLES = "growth.run_cycles"

faults.declare("growth.request.before", "a run that somebody asked for is written, not yet committed")


def flag(value: Any, field: str) -> bool:
    """A strict yes or no: booleans, 1 and 0, true/yes/on, false/no/off in any case; Invalid for the rest."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise Invalid("True or false is needed.", field=field)


def request(
    agent: Agent,
    *,
    by: Person | None,
    trigger: str = Trigger.MANUAL,
    dry_run: bool = False,
    force: bool = False,
    door: str = "rest",
) -> GrowthRun:
    """Save a queued run and ring for it; nothing is awaited.

    Raises Conflict (`cycle_running`, with `run`) while another run of the agent is open, and Refused for an
    archived agent or, without `force`, mode off. Refused tries are audited.
    """
    name = f"synth.agent:{agent.pk}"
    with audit.refusals(by, door=door, action="growth_run_request", object=name, agent=agent):
        if agent.archived_at is not None:
            raise Refused("The agent is archived.", code="agent_archived")
        if effective(agent).mode == "off" and not force:
            raise Refused("Growth is off for this agent; force runs it once anyway.", code="mode_off")
        return _save(agent, by=by, trigger=Trigger(trigger), dry_run=dry_run, force=force, door=door)


def _save(
    agent: Agent, *, by: Person | None, trigger: Trigger, dry_run: bool, force: bool, door: str
) -> GrowthRun:
    at = now()
    run = GrowthRun(
        agent_id=agent.pk,
        trigger=trigger,
        is_dry_run=dry_run,
        is_forced=force,
        created_at=at,
        due_at=at,
        created_by=by.username if by else "command",
    )
    try:
        with transaction.atomic():
            run.save(force_insert=True)
            audit.record(
                by,
                door=door,
                action="growth_run_request",
                object=run,
                agent=agent,
                after={"dry_run": dry_run, "force": force},
            )
            background.ring(RUN_CYCLES)
            faults.point("growth.request.before")
    except IntegrityError:
        running = open_run(agent.pk)
        raise Conflict(
            "A cycle of this agent is already running.",
            code="cycle_running",
            run=running.pk if running else None,
        ) from None
    return run


def open_run(agent_id: int) -> GrowthRun | None:
    """The queued or running run of an agent, if there is one."""
    return GrowthRun.objects.filter(agent_id=agent_id, status__in=OPEN_STATUSES).first()


def note(run: GrowthRun, **values: Any) -> None:
    """Save progress of a claimed run; Conflict when another worker has it by now."""
    leases.guarded(run, was={"status": RunStatus.RUNNING}, **values)


def finish(run: GrowthRun, status: RunStatus, reason: str = "", detail: str = "", **values: Any) -> None:
    """End a claimed run: `running → …`; Conflict when another worker has it by now."""
    leases.guarded(
        run,
        was={"status": RunStatus.RUNNING},
        status=status,
        reason=reason,
        detail=detail,
        lease_until=None,
        finished_at=now(),
        **values,
    )
