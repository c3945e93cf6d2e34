"""Numbers of an inbox: no gap, no twin, no deadlock, whatever senders do and however many workers run."""

from __future__ import annotations

import random

import pytest
from django.db import transaction

from reminders.models import Delivery
from reminders.services import carrying, dispatch
from reminders.tests.workers import at_once
from synth import faults
from synth.services import people

pytestmark = pytest.mark.django_db(transaction=True)


class Undo(Exception):
    """A sender changes its mind."""


def send_to_all(persons, seed: int) -> None:
    """Ten transactions, each to every person in a random order; every third is undone."""
    dice = random.Random(seed)
    for n in range(10):
        try:
            with transaction.atomic():
                for person in dice.sample(persons, len(persons)):
                    dispatch.send(kind="system", title=f"{seed}.{n}", person=person, dedupe_key="")
                if n % 3 == 0:
                    raise Undo
        except Undo:
            pass


def drain_until_empty() -> None:
    while Delivery.objects.filter(status="queued").exists():
        carrying.drain_all()


def numbers(person) -> list[int | None]:
    return list(Delivery.objects.filter(person=person).order_by("seq").values_list("seq", flat=True))


def test_senders_and_workers_at_once_leave_no_gap_and_no_twin(db):
    persons = [people.ensure(name) for name in ("ana", "bo", "cy")]
    at_once(
        *[lambda seed=seed: send_to_all(persons, seed) for seed in range(4)],
        *[carrying.drain_all for _ in range(4)],
    )
    at_once(*[drain_until_empty for _ in range(8)])
    assert {person.username: numbers(person) for person in persons} == {
        person.username: list(range(1, 25)) for person in persons
    }
    assert all(len(row.results) == 1 for row in Delivery.objects.all())


def test_a_number_of_an_undone_move_is_given_again(pia, send, monkeypatch):
    send(person=pia)

    def broken(name: str) -> None:
        if name == "reminders.sent.before":
            raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", broken)
        assert carrying.drain_all() == 0
    row = Delivery.objects.get()
    assert (row.status, row.seq, row.n_failures) == ("queued", None, 1)
    Delivery.objects.update(due_at=row.at)
    assert carrying.drain_all() == 1
    assert numbers(pia) == [1]


def test_two_senders_with_one_key_leave_one_row(pia):
    def one() -> None:
        for n in range(20):
            with transaction.atomic():
                dispatch.send(kind="system", title="Hello", person=pia, dedupe_key=f"k{n}")

    at_once(*[one for _ in range(6)])
    assert Delivery.objects.count() == 20


def test_the_second_sender_writes_when_the_first_is_undone(pia):
    import threading

    is_written, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with pytest.raises(Undo), transaction.atomic():
            dispatch.send(kind="system", title="First", person=pia, dedupe_key="k")
            is_written.set()
            may_end.wait(0.5)
            raise Undo

    def second() -> None:
        is_written.wait(20)
        with transaction.atomic():
            dispatch.send(kind="system", title="Second", person=pia, dedupe_key="k")

    at_once(first, second)
    assert [row.title for row in Delivery.objects.all()] == ["Second"]
