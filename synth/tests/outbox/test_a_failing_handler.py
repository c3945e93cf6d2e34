"""A handler that fails is tried eight times over a day, then parked; others do not notice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils.timezone import now

from synth.errors import Conflict, Refused
from synth.models import AuditEntry, EventHandling, Person
from synth.services import draining, outbox

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """A clock that tests move."""

    def __init__(self):
        self.at = now() + timedelta(seconds=5)

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def subscribe(monkeypatch):
    monkeypatch.setattr(outbox, "HANDLERS", {})
    return lambda name, handle: outbox.subscribe("test.happened", name)(handle)


def publish():
    with transaction.atomic():
        outbox.publish("test.happened", {"id": 1})


def fail(payload):
    AuditEntry.objects.create(actor_label="test", door="task", action="half", object="x:1")
    raise RuntimeError("no luck")


def row_of(name):
    return EventHandling.objects.get(handler=name)


def test_what_a_failed_try_wrote_is_undone(subscribe, clock):
    subscribe("test.fail", fail)
    publish()
    assert draining.drain(clock=clock) == 0
    assert AuditEntry.objects.count() == 0
    row = row_of("test.fail")
    assert (row.status, row.n_failures, row.lease_until) == ("waiting", 1, None)
    assert "no luck" in row.error


def test_eight_tries_take_about_a_day_and_then_it_is_parked(subscribe, clock, caplog):
    subscribe("test.fail", fail)
    publish()
    began = clock.at
    tries = []
    while row_of("test.fail").status == "waiting":
        draining.drain(clock=clock)
        tries.append((clock.at - began) / timedelta(minutes=1))
        clock.at = max(row_of("test.fail").due_at, clock.at)
    assert tries == [0, 1, 6, 26, 86, 266, 626, 1346]
    row = row_of("test.fail")
    assert (row.status, row.n_failures) == ("parked", 8)
    assert "no luck" in row.error
    assert [record.levelname for record in caplog.records if "event_parked" in str(record.msg)] == ["ERROR"]
    clock.at += timedelta(days=30)
    assert draining.drain(clock=clock) == 0


def test_a_failing_handler_does_not_hold_up_another(subscribe, clock):
    calls = []
    subscribe("test.fail", fail)
    subscribe("test.fine", lambda payload: calls.append(payload["id"]))
    publish()
    publish()
    assert draining.drain(clock=clock) == 2
    assert calls == [1, 1]


@pytest.mark.parametrize("is_swallowed", [False, True])
def test_a_database_error_costs_only_its_own_row(subscribe, clock, is_swallowed):
    def clash(payload):
        try:
            Person.objects.create(username="twin")
            Person.objects.create(username="twin")
        except IntegrityError:
            if not is_swallowed:
                raise

    subscribe("test.a_clash", clash)
    subscribe("test.fine", lambda payload: None)
    publish()
    assert draining.drain(clock=clock) == 1
    assert row_of("test.a_clash").n_failures == 1
    assert row_of("test.fine").status == "handled"
    assert Person.objects.count() == 0


def test_a_handler_that_loses_its_connection_costs_only_its_own_row(subscribe, clock):
    def cut(payload):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    subscribe("test.a_cut", cut)
    subscribe("test.fine", lambda payload: None)
    publish()
    assert draining.drain(clock=clock) == 1
    assert row_of("test.a_cut").status == "waiting"
    assert row_of("test.a_cut").error != ""


def test_a_statement_that_takes_too_long_is_ended(subscribe, clock, monkeypatch):
    monkeypatch.setattr(draining, "STATEMENT_S", 1)

    def sleep(payload):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(20)")

    subscribe("test.sleep", sleep)
    publish()
    draining.drain(clock=clock)
    assert "timeout" in row_of("test.sleep").error


@pytest.mark.parametrize("error", [Refused("no"), Conflict("moved", code="taken")])
def test_a_domain_error_is_a_failed_try_too(subscribe, clock, error):
    def refuse(payload):
        raise error

    subscribe("test.refuse", refuse)
    publish()
    draining.drain(clock=clock)
    assert row_of("test.refuse").n_failures == 1


def test_an_error_after_the_commit_does_not_repeat_the_work(subscribe, clock):
    def late(payload):
        transaction.on_commit(lambda: 1 / 0)

    subscribe("test.late", late)
    publish()
    draining.drain(clock=clock)
    assert row_of("test.late").status == "handled"


def test_a_handler_of_removed_code_is_parked_with_that_reason(subscribe, clock):
    subscribe("test.removed", lambda payload: None)
    publish()
    outbox.HANDLERS.clear()
    while row_of("test.removed").status == "waiting":
        draining.drain(clock=clock)
        clock.at += timedelta(hours=13)
    assert "no handler is named test.removed" in row_of("test.removed").error


def test_a_process_that_dies_each_time_counts_too(subscribe, clock):
    subscribe("test.deadly", lambda payload: None)
    publish()
    n_claims = 0
    while draining._claim("test.deadly", clock()) is not None:
        n_claims += 1  # and the process dies
        if n_claims == draining.MAX_TRIES:
            break
        clock.at += timedelta(hours=13)
    clock.at += timedelta(hours=13)
    assert draining.drain(clock=clock) == 0
    row = row_of("test.deadly")
    assert (row.status, row.error) == ("parked", draining.DIED)


def test_a_retry_gives_a_parked_event_another_day(subscribe, clock):
    subscribe("test.flaky", lambda payload: None)
    publish()
    EventHandling.objects.update(status="parked", n_failures=8, error="no luck")
    operator = Person.objects.create(username="op", is_operator=True)
    outbox.retry_parked(row_of("test.flaky").pk, by=operator)
    assert AuditEntry.objects.get(action="event_retry").actor == operator
    clock.at = now() + timedelta(seconds=5)
    assert draining.drain(clock=clock) == 1
    row = row_of("test.flaky")
    assert (row.status, row.n_failures, row.error) == ("handled", 0, "")


def test_a_retry_of_what_is_not_parked_is_refused(subscribe):
    subscribe("test.fine", lambda payload: None)
    publish()
    with pytest.raises(Conflict) as caught:
        outbox.retry_parked(row_of("test.fine").pk, by=Person.objects.create(username="op"))
    assert caught.value.code == "not_parked"
    assert AuditEntry.objects.count() == 0
