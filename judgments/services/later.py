"""`judge_later`: asks on the workers, one at a time for each judgment; a handler hears of each exactly once.

The row is the queue: it survives a worker's death, and the transaction that closes it saves the run and calls
the handler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from judgments import options, registry, strict_json
from judgments.backends import Failure, HostConfig, Reply
from judgments.models import LaterAsk, LaterStatus, RunEvent
from judgments.results import Result
from judgments.services import asking, runs, settings
from judgments.services.asking import Asking
from synth import background, faults, selectors
from synth.errors import Conflict
from synth.rowqueue import leases
from synth.rowqueue.deadline import Deadline

if TYPE_CHECKING:
    from synth.models import Agent

TASK = "judgments.run_later"
MAX_TRIES = 3
# The wire's words have none for our own failure; like a 4xx it would not pass by asking again.
OUR_OWN = "refused"
RETRIES = 2
AGAIN = timedelta(seconds=30)
OPEN = (LaterStatus.QUEUED, LaterStatus.RUNNING)
Handler = Callable[[Result], None]
HANDLERS: dict[str, Handler] = {}
log = structlog.get_logger(__name__)
faults.declare("judgments.later.before", "a background ask was answered, nothing is saved yet")


def handler(name: str) -> Callable[[Handler], Handler]:
    """Decorator: the function that hears of asks with `then=name`. Database work only; it gets the Result."""

    def add(function: Handler) -> Handler:
        if name in HANDLERS:
            raise ValueError(f"a handler is already named {name}")
        HANDLERS[name] = function
        return function

    return add


def judge_later(
    name: str,
    state: Any,
    *,
    session: str | None = None,
    then: str = "",
    agent: Agent | None = None,
    quotes: Iterable[str] = (),
) -> str | None:
    """Ask on a worker; the run's id at once, None when no run will be saved.

    Where nothing will be asked, the handler is called before this returns. Raises as `judge` does, and
    ValueError for a handler nobody registered; may be called inside a transaction, and is then part of it.
    """
    if then and then not in HANDLERS:
        raise ValueError(f"no handler is named {then}")
    one = asking.prepare(name, state, session=session, agent=agent, quotes=tuple(quotes))
    held, reason = asking.look(one)
    if reason in ("off", "no_host", "no_session"):
        with transaction.atomic():
            _tell(then, asking.unasked(one, held.mode, reason))
        return None
    draft = asking.draft_of(one, held.mode)
    row = LaterAsk(
        id=draft.id, judgment=name, state=_stored(one), session_id=one.session or "", then=then,
        agent_id=one.agent.pk if one.agent else None, is_saved=one.is_saved, due_at=now(),
    )  # fmt: skip
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            background.ring(TASK)
    except IntegrityError:
        with transaction.atomic():
            result = asking.unasked(one, held.mode, "busy", draft)
            _tell(then, result)
        return result.run_id
    return draft.public_id if one.is_saved and runs.is_on() else None


def _stored(one: Asking) -> dict[str, Any]:
    return dict(strict_json.saveable({"state": one.state, "quotes": list(one.quotes)}))


def run_waiting(deadline: Deadline) -> int:
    """Work on asks until none waits or the time is over; how many were closed."""
    n_closed = 0
    while not deadline.is_over:
        rows = leases.claim(LaterAsk.objects.filter(status__in=OPEN), at=now())
        if not rows:
            break
        n_closed += _run(rows[0])
    return n_closed


def ring_if_waiting(at: datetime) -> None:
    """Wake a worker when an ask waits."""
    if LaterAsk.objects.filter(leases.due(at), status__in=OPEN).exists():
        background.ring(TASK)


def _run(row: LaterAsk) -> bool:
    """Take one ask to its end; False when it was put off or another worker has it."""
    try:
        leases.guarded(row, status=LaterStatus.RUNNING)
        if row.attempt > MAX_TRIES:
            # Nobody gave it back: each worker that tried it died.
            _give_up(row, f"the worker died {MAX_TRIES} times")
            return True
        with leases.keep(row):
            _answer(row)
        return True
    except Conflict as conflict:
        if conflict.code != "lease_lost":
            raise
        log.warning("later_ask_taken_over", ask=str(row.pk))
    except Exception as error:  # noqa: BLE001 - one broken ask must not stop the others
        log.exception("later_ask_broke", ask=str(row.pk), judgment=row.judgment)
        return _after_crash(row, f"{type(error).__name__}: {error}"[:200])
    return False


def _answer(row: LaterAsk) -> None:
    found: Reply | Failure | None = None
    host: HostConfig | None = None
    one = _asking_of(row)
    held, reason = asking.look(one)
    if asking.is_orphan(one):
        # Deleted while this was being put down, so that the deletion did not see it.
        reason = "no_session"
    draft = asking.draft_of(one, held.mode, row.pk)
    if not reason and held.host is not None:
        host = held.host
        wait_s = options.read(options.LATER_TIMEOUT_MS) / 1000
        found = asking.send(one, host, wait_s, retries=RETRIES)
    faults.point("judgments.later.before")
    with transaction.atomic():
        _end(row)
        if found is None or host is None:
            result = asking.unasked(one, held.mode, reason or "no_host", draft)
            if result.run_id is None:
                RunEvent.objects.filter(
                    run_id=row.pk
                ).delete()  # labels that came early have no run to wait for
        else:
            result = asking.close(one, draft, host, found, is_late=True)
        _tell(row.then, result)


def _asking_of(row: LaterAsk) -> Asking:
    agent = selectors.agent_by_id(row.agent_id) if row.agent_id else None
    kept = row.state or {}
    return asking.prepare(
        row.judgment, kept["state"], session=row.session_id, agent=agent, quotes=tuple(kept["quotes"]),
        is_saved=row.is_saved,
    )  # fmt: skip


def _end(row: LaterAsk) -> None:
    leases.guarded(
        row, was={"status": LaterStatus.RUNNING}, status=LaterStatus.DONE, lease_until=None,
        finished_at=now(), state=None,
    )  # fmt: skip


def _after_crash(row: LaterAsk, detail: str) -> bool:
    """Our own failure: twice more, then the ask has failed and its handler hears so."""
    try:
        if row.attempt < MAX_TRIES:
            leases.release(row, now() + AGAIN, status=LaterStatus.QUEUED)
            return False
        _give_up(row, detail)
        return True
    except Conflict:
        return False


def _give_up(row: LaterAsk, why: str) -> None:
    """Close an ask that we could not take to its end: its run says so, its handler hears so."""
    found = Failure(OUR_OWN, f"Our own error, no host's: {why}")
    draft = _draft_without_asking(row)
    draft.failure, draft.failure_text = found.word, found.text
    with transaction.atomic():
        _end(row)
        saved = runs.save(draft, is_late=True) if row.is_saved else None
        known = asking.ids(draft.questions)
        _tell(row.then, Result(draft.mode, "failed", run_id=saved, question_ids=known, failure=found.word))


def _draft_without_asking(row: LaterAsk) -> runs.Draft:
    """The run as far as the row tells it: no code of the judgment's runs, which may be what broke."""
    declaration = next((one for one in registry.all_declared() if one.name == row.judgment), None)
    kept = row.state or {"state": "", "quotes": []}
    return runs.Draft(
        judgment=row.judgment, questions=(declaration.questions if declaration else None) or (),
        state=kept["state"], mode=settings.mode_of(row.judgment), at=now(), id=row.pk,
        session_id=row.session_id, quotes=tuple(kept["quotes"]), agent_id=row.agent_id,
        positive=declaration.positive if declaration else (),
        negative=declaration.negative if declaration else (),
    )  # fmt: skip


def _tell(name: str, result: Result) -> None:
    """Call the handler inside the transaction; what it raises undoes its own work only."""
    function = HANDLERS.get(name)
    if function is None:
        if name:
            log.error("later_handler_missing", handler=name, run=result.run_id)
        return
    try:
        with transaction.atomic():
            function(result)
    except Exception:  # noqa: BLE001 - the ask is closed whatever its handler does
        log.exception("later_handler_failed", handler=name, run=result.run_id)


def forget_done(at: datetime) -> int:
    """Delete closed asks of more than a day ago; how many. Their runs stay."""
    old = LaterAsk.objects.filter(status=LaterStatus.DONE, finished_at__lt=at - timedelta(days=1))
    return old.delete()[0]
