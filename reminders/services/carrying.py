"""Carries queued deliveries: claims rows of one channel, hands them over, writes down what came of it.

Each claim is charged as a failure with its delay before anything is sent, and given back on success. So a
delivery that takes its whole process down is retried ever later and ends as failed too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import Min
from django.utils import timezone

from reminders import channels, paths
from reminders.channels import CHANNELS, Local, Parcel, Remote, Undelivered
from reminders.models import Delivery, DeliveryStatus
from reminders.services import hosts
from reminders.services.dispatch import DELIVER
from synth import background, faults
from synth.errors import Conflict
from synth.net import database
from synth.rowqueue import leases
from synth.rowqueue.deadline import Deadline
from synth.services import outbox

# Waits after failures 1 to 7; the eighth is the last. Together 25 h 12 min 30 s.
BACKOFF_S = (30, 120, 600, 3600, 4 * 3600, 8 * 3600, 12 * 3600)
MAX_TRIES = len(BACKOFF_S) + 1
LOCAL_BATCH = 20
MAX_RESULTS = 40
DIED = "each try ended together with its process"
WAS = {"status": DeliveryStatus.QUEUED}
Clock = Callable[[], datetime]
log = structlog.get_logger(__name__)

faults.declare("reminders.claim.after", "a claimed delivery whose worker died is carried by the next one")
faults.declare("reminders.carry.before", "a delivery about to leave is sent by the next worker")
faults.declare("reminders.carry.after", "a delivery that left unmarked leaves again with the same id")
faults.declare("reminders.sent.before", "rows placed and their mark are undone together, and done again")
faults.declare("reminders.sent.after", "a delivery that was marked sent is not sent again")
faults.declare("reminders.failure.before", "a failure nobody wrote down still counts as a try")


def waiting_channels(at: datetime) -> list[str]:
    """Channels with rows that may be claimed now, the longest waiting first."""
    rows = Delivery.objects.filter(leases.due(at), **WAS)
    oldest = rows.values("channel").annotate(oldest=Min("due_at")).order_by("oldest")
    return [row["channel"] for row in oldest]


def ring_waiting(at: datetime) -> None:
    """Wake one drain for each channel with rows due, so that a slow channel holds up no other."""
    for name in waiting_channels(at):
        background.ring(DELIVER, name)


def drain(name: str, deadline: Deadline | None = None, clock: Clock = timezone.now) -> int:
    """Carry what waits for one channel until nothing is due; the number that was confirmed.

    InTransaction inside a transaction: no channel may work there.
    """
    database.leave()
    deadline = deadline or Deadline(50)
    n_sent = 0
    while not deadline.is_over:
        rows = _claim(CHANNELS[name], clock())
        if not rows:
            return n_sent
        n_sent += sum(handle(row, clock) for row in rows)
    background.ring(DELIVER, name)
    return n_sent


def drain_all(clock: Clock = timezone.now) -> int:
    """Carry what waits on every channel, one after the other; for tests and commands."""
    return sum(drain(name, clock=clock) for name in waiting_channels(clock()))


def _claim(channel: channels.Channel, at: datetime) -> list[Delivery]:
    """Charged rows of the channel: none when nothing is due, or enough others are at a remote one."""
    rows = Delivery.objects.filter(channel=channel.name, **WAS)
    is_remote = isinstance(channel, Remote)
    if isinstance(channel, Remote) and rows.filter(lease_until__gt=at).count() >= channel.max_at_once:
        return []
    with transaction.atomic():
        claimed = leases.claim(rows, at=at, limit=1 if is_remote else LOCAL_BATCH)
        for row in claimed:
            wait = timedelta(seconds=BACKOFF_S[min(row.n_failures, len(BACKOFF_S) - 1)])
            leases.guarded(row, n_failures=row.n_failures + 1, due_at=at + wait)
    faults.point("reminders.claim.after")
    return claimed


def handle(row: Delivery, clock: Clock = timezone.now) -> bool:
    """Carry one claimed row; whether it is sent now. Never raises for what a channel does."""
    if row.n_failures > MAX_TRIES:
        _settle(row, Undelivered(DIED, max_tries=1), clock())
        return False
    try:
        path = paths.parse(row.interface_path)
        channel = channels.of(path)
        if isinstance(channel, Local):
            _sent(row, "placed", clock(), lambda: channel.place(row, path))
        else:
            _sent(row, _carry(row, channel, path, clock), clock())
    except Undelivered as trouble:
        _settle(row, trouble, clock())
        return False
    except Conflict as conflict:
        if conflict.code != "lease_lost":
            _settle(row, Undelivered(f"conflict: {conflict.code}"), clock())
        return False
    except Exception as error:  # noqa: BLE001 - a channel may raise anything; it is that delivery's failure only
        log.warning("delivery_broke", delivery=row.pk, channel=row.channel, exc_info=True)
        _settle(row, Undelivered(type(error).__name__), clock())
        return False
    faults.point("reminders.sent.after")
    return True


def _carry(row: Delivery, channel: Remote, path: paths.Path, clock: Clock) -> str:
    """Hand the row to its channel with no connection open; what confirmed it. Undelivered otherwise."""
    host = channel.host(path)
    until = hosts.shut_until(host, clock())
    # The last try is always a real one.
    if until is not None and row.n_failures < MAX_TRIES:
        wait_s = (until - clock()).total_seconds()
        raise Undelivered("not tried: its host keeps failing", retry_after_s=wait_s)
    parcel = Parcel(row.pk, row.kind, row.title, row.body, row.at, path, row.metadata)
    try:
        with leases.keep(row, work_s=channel.timeout_s * 2) as kept:
            database.leave()
            kept.check()
            faults.point("reminders.carry.before")
            confirmation = channel.carry(parcel, channel.timeout_s)
            faults.point("reminders.carry.after")
    except Undelivered as trouble:
        if trouble.is_hosts_fault:
            hosts.note_failure(host, clock())
        else:
            hosts.note_answer(host)
        raise
    hosts.note_answer(host)
    return confirmation


def _sent(row: Delivery, detail: str, at: datetime, place: Callable[[], None] | None = None) -> None:
    """`queued → sent` with its event, and a local channel's rows last, in one transaction."""
    with transaction.atomic():
        leases.guarded(
            row,
            was=WAS,
            status=DeliveryStatus.SENT,
            sent_at=at,
            moved_at=at,
            lease_until=None,
            n_failures=row.n_failures - 1,
            results=_results(row, at, True, detail),
        )
        outbox.publish("reminders.delivery_sent", {"delivery": row.pk})
        if place is not None:
            place()
        faults.point("reminders.sent.before")


def _settle(row: Delivery, trouble: Undelivered, at: datetime) -> None:
    """Write the failure down: wait for the next try, or `queued → failed` with its event after the last one.

    When even that fails (no database), the row was charged at its claim and comes back by itself.
    """
    faults.point("reminders.failure.before")
    try:
        connection.close_if_unusable_or_obsolete()
        # What a rolled back move set on the object is read anew.
        row.refresh_from_db(fields=["n_failures", "results"])
        results = _results(row, at, False, trouble.detail)
        if row.n_failures < min(trouble.max_tries or MAX_TRIES, MAX_TRIES):
            wait_s = max(BACKOFF_S[row.n_failures - 1], trouble.retry_after_s)
            leases.release(row, at + timedelta(seconds=wait_s), was=WAS, results=results)
            return
        with transaction.atomic():
            n_tries = min(row.n_failures, MAX_TRIES)
            leases.guarded(
                row, was=WAS, status=DeliveryStatus.FAILED, moved_at=at, lease_until=None, n_failures=n_tries,
                results=results,
            )  # fmt: skip
            outbox.publish("reminders.delivery_failed", {"delivery": row.pk, "error": trouble.detail})
        log.error("delivery_failed", delivery=row.pk, channel=row.channel, error=trouble.detail)
    except (Conflict, Delivery.DoesNotExist):
        log.warning("delivery_failure_moot", delivery=row.pk, error=trouble.detail)
    except DatabaseError:
        log.exception("delivery_failure_not_written", delivery=row.pk)


def _results(row: Delivery, at: datetime, is_ok: bool, detail: str) -> list[dict[str, Any]]:
    """The tries on record with this one, the latest forty."""
    return [*row.results, {"at": at.isoformat(), "is_ok": is_ok, "detail": detail[:300]}][-MAX_RESULTS:]
