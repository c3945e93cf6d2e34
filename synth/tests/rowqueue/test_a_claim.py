"""One worker at a time gets a row; a silent worker's row goes to the next."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils.timezone import now

from synth.errors import Conflict
from synth.models import EventHandling, OutboxEvent
from synth.rowqueue import leases

pytestmark = pytest.mark.django_db


def make(n: int = 1, **values) -> list[EventHandling]:
    at = now()
    event = OutboxEvent.objects.create(name="test.claimed")
    defaults = {"due_at": at - timedelta(seconds=1)} | values
    return [EventHandling.objects.create(event=event, handler=f"test.h{i}", **defaults) for i in range(n)]


def test_a_claim_counts_and_takes_a_lease_of_a_minute():
    (row,) = make()
    at = now()
    (claimed,) = leases.claim(EventHandling.objects.all(), at=at)
    row.refresh_from_db()
    assert (claimed.pk, claimed.attempt, claimed.lease_until) == (row.pk, 1, at + timedelta(seconds=60))
    assert (row.attempt, row.lease_until) == (1, claimed.lease_until)


def test_a_leased_row_is_not_claimed_until_the_lease_runs_out():
    make()
    at = now()
    assert leases.claim(EventHandling.objects.all(), at=at)
    assert leases.claim(EventHandling.objects.all(), at=at + timedelta(seconds=59)) == []
    (again,) = leases.claim(EventHandling.objects.all(), at=at + timedelta(seconds=60))
    assert again.attempt == 2


def test_a_row_that_is_not_due_is_not_claimed():
    make(due_at=now() + timedelta(seconds=5))
    assert leases.claim(EventHandling.objects.all(), at=now()) == []


def test_the_longest_due_come_first_and_no_more_than_asked():
    rows = make(3)
    for row, age_s in zip(rows, (10, 30, 20), strict=True):
        EventHandling.objects.filter(pk=row.pk).update(due_at=now() - timedelta(seconds=age_s))
    claimed = leases.claim(EventHandling.objects.all(), at=now(), limit=2)
    assert [row.pk for row in claimed] == [rows[1].pk, rows[2].pk]


def test_a_released_row_comes_back_when_it_is_due():
    make()
    at = now()
    (row,) = leases.claim(EventHandling.objects.all(), at=at)
    leases.release(row, at + timedelta(minutes=5), error="busy")
    assert leases.claim(EventHandling.objects.all(), at=at + timedelta(minutes=4)) == []
    (again,) = leases.claim(EventHandling.objects.all(), at=at + timedelta(minutes=5))
    assert (again.attempt, again.error) == (2, "busy")


def test_a_slow_worker_cannot_move_the_row_of_its_successor():
    make()
    at = now()
    (slow,) = leases.claim(EventHandling.objects.all(), at=at)
    (successor,) = leases.claim(EventHandling.objects.all(), at=at + timedelta(seconds=61))
    with pytest.raises(Conflict) as caught:
        leases.guarded(slow, status="handled")
    assert caught.value.code == "lease_lost"
    leases.guarded(successor, status="handled")
    assert EventHandling.objects.get().status == "handled"
    assert successor.status == "handled"


def test_a_move_can_also_ask_for_the_status_it_saw():
    make()
    (row,) = leases.claim(EventHandling.objects.all(), at=now())
    EventHandling.objects.update(status="parked")
    with pytest.raises(Conflict):
        leases.guarded(row, was={"status": "waiting"}, status="handled")


@pytest.mark.django_db(transaction=True)
def test_a_row_locked_by_another_transaction_is_passed_over():
    rows = make(2)
    found: list[int] = []

    def claim_elsewhere() -> None:
        try:
            found.extend(row.pk for row in leases.claim(EventHandling.objects.all(), at=now(), limit=5))
        finally:
            connection.close()

    with transaction.atomic():
        EventHandling.objects.select_for_update().get(pk=rows[0].pk)
        other = threading.Thread(target=claim_elsewhere)
        other.start()
        other.join(timeout=20)
    assert found == [rows[1].pk]


@pytest.mark.django_db(transaction=True)
def test_eight_workers_share_the_rows_without_overlap():
    rows = make(60)
    got: list[list[int]] = [[] for _ in range(8)]

    def work(mine: list[int]) -> None:
        try:
            while claimed := leases.claim(EventHandling.objects.all(), at=now(), limit=3):
                mine.extend(row.pk for row in claimed)
        finally:
            connection.close()

    workers = [threading.Thread(target=work, args=(mine,)) for mine in got]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert sorted(pk for mine in got for pk in mine) == sorted(row.pk for row in rows)
    assert set(EventHandling.objects.values_list("attempt", flat=True)) == {1}
