"""While the work goes on the lease is renewed; when it is lost the worker can tell."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.utils.timezone import now

from synth.errors import Conflict
from synth.models import EventHandling, OutboxEvent
from synth.net.postgresql.kept import shelf
from synth.rowqueue import leases

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row() -> EventHandling:
    event = OutboxEvent.objects.create(name="test.kept")
    EventHandling.objects.create(event=event, handler="test.h", due_at=now())
    return leases.claim(EventHandling.objects.all(), at=now())[0]


def wait_for(condition) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def lease_of(row: EventHandling):
    return EventHandling.objects.get(pk=row.pk).lease_until


def test_the_lease_moves_on_while_the_block_runs(row):
    before = lease_of(row)
    with leases.keep(row, renew_s=0.05) as kept:
        assert wait_for(lambda: lease_of(row) > before)
        assert not kept.lost
        kept.check()
    after = lease_of(row)
    time.sleep(0.2)
    assert lease_of(row) == after, "nothing is renewed after the block"


def test_a_worker_whose_row_was_taken_over_is_told(row):
    with leases.keep(row, renew_s=0.05) as kept:
        EventHandling.objects.filter(pk=row.pk).update(attempt=row.attempt + 1, lease_until=None)
        assert wait_for(lambda: kept.lost)
        with pytest.raises(Conflict):
            kept.check()
    assert lease_of(row) is None, "the successor's row is not touched"


def test_work_past_its_deadline_is_not_renewed(row):
    with leases.keep(row, renew_s=0.05, work_s=0.0) as kept:
        before = lease_of(row)
        time.sleep(0.3)
        assert kept.remaining_s == 0
        assert lease_of(row) == before


def test_a_lease_nobody_could_renew_is_lost_when_it_runs_out(row, monkeypatch):
    def broken(self):
        raise DatabaseError("away")

    monkeypatch.setattr(leases.Kept, "_renew", broken)
    row.lease_until = now() + timedelta(seconds=0.3)
    with leases.keep(row, renew_s=0.05) as kept:
        assert not kept.lost
        assert wait_for(lambda: kept.lost)


def test_steps_of_the_wall_clock_do_not_end_a_lease(row, time_machine):
    time_machine.move_to(now(), tick=True)
    with leases.keep(row) as kept:
        time_machine.move_to(now() + timedelta(hours=5), tick=True)
        assert not kept.lost
        time_machine.move_to(now() - timedelta(days=2), tick=True)
        assert not kept.lost


def test_renewals_hold_no_connection_afterwards(row):
    def n_held() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(cursor.fetchone()[0]) - len(shelf)

    before = n_held()
    with leases.keep(row, renew_s=0.05):
        first = lease_of(row)
        assert wait_for(lambda: lease_of(row) > first)
    assert wait_for(lambda: n_held() <= before)
