"""A prepared queryset gives what the queryset itself would give, without writing its SQL again."""

from __future__ import annotations

import gc
import threading
import weakref
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection, connections
from django.db.models import Count, Exists, OuterRef
from django.db.models.sql.compiler import SQLCompiler

from synth.models import Agent, Dialogue, Message, MessageRole, Person
from synth.net.prepared import Prepared
from synth.services import agents, dialogues, people

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def rows():
    agent = agents.create(slug="wren", name="Wren", persona="Kind.")
    made = [dialogues.create(agent, people.ensure(name)) for name in ("pia", "ben")]
    for n, dialogue in enumerate(made):
        for k in range(n + 1):
            Message.objects.create(dialogue=dialogue, role="user", author=dialogue.person, content=f"{n} {k}")
    return made


def test_related_rows_and_annotations_come_with_it(rows, django_assert_num_queries):
    trainers = Agent.trainers.through.objects.filter(agent=OuterRef("agent"), person=OuterRef("person"))

    def make(key, since):
        return Dialogue.objects.select_related("agent", "person").annotate(
            n=Count("messages"), trains=Exists(trainers)
        ).filter(pk=key, created_at__gt=since)  # fmt: skip

    prepared = Prepared(make, key=UUID, since=datetime)
    rows[1].agent.trainers.add(rows[1].person)
    for dialogue, n, trains in ((rows[0], 1, False), (rows[1], 2, True)):
        with django_assert_num_queries(1):
            (found,) = prepared.rows(key=dialogue.pk, since=LONG_AGO)
            assert (found, found.n, found.trains) == (dialogue, n, trains)
            assert (found.agent.name, found.person) == ("Wren", dialogue.person)
        (plain,) = make(dialogue.pk, LONG_AGO)
        assert {**found.__dict__, "_state": 0} == {**plain.__dict__, "_state": 0}
    assert prepared.rows(key=rows[0].pk, since=datetime.now(UTC) + timedelta(days=1)) == []
    assert prepared.first(key=uuid4(), since=LONG_AGO) is None


def test_order_and_limit_are_the_queryset_s(rows):
    newest = Prepared(
        lambda dialogue, text: Message.objects.filter(dialogue=dialogue)
        .exclude(content=text).order_by("-pk")[:1],
        dialogue=UUID, text=str,
    )  # fmt: skip
    assert [row.content for row in newest.rows(dialogue=rows[1].pk, text="")] == ["1 1"]
    assert [row.content for row in newest.rows(dialogue=rows[1].pk, text="1 1")] == ["1 0"]


def test_a_value_may_stand_in_several_places(rows):
    either = Prepared(
        lambda name, key: Person.objects.filter(username=name) | Person.objects.filter(email=name, pk=key),
        name=str, key=int,
    )  # fmt: skip
    Person.objects.filter(username="ben").update(email="pia")
    ben = Person.objects.get(username="ben")
    assert {row.username for row in either.rows(name="pia", key=ben.pk)} == {"pia", "ben"}
    assert {row.username for row in either.rows(name="pia", key=0)} == {"pia"}
    quoted = "'; DROP TABLE synth_person; --%s %(name)s"
    assert either.rows(name=quoted, key=0) == []


def test_the_sql_is_written_once(rows, monkeypatch):
    written = []
    as_sql = SQLCompiler.as_sql

    def counted(self, *args, **named):
        written.append(1)
        return as_sql(self, *args, **named)

    monkeypatch.setattr(SQLCompiler, "as_sql", counted)
    prepared = Prepared(lambda key: Dialogue.objects.filter(pk=key), key=UUID)
    for dialogue in rows * 3:
        assert prepared.first(key=dialogue.pk) == dialogue
    assert len(written) == 1


class Moment(datetime):
    """As libraries for dates have them."""


def test_values_of_finer_types_are_taken_as_the_queryset_takes_them(rows):
    def make(role, since):
        return Message.objects.filter(role=role, at__gt=since).order_by("pk")

    prepared = Prepared(make, role=str, since=datetime)
    for since in (Moment(2020, 1, 1, tzinfo=UTC), Moment(2999, 1, 1, tzinfo=UTC)):
        for role in (MessageRole.USER, MessageRole.ASSISTANT):
            assert prepared.rows(role=role, since=since) == list(make(role, since))
    assert len(prepared.rows(role=MessageRole.USER, since=LONG_AGO)) == 3


@pytest.mark.parametrize(
    "values",
    [{}, {"key": 1}, {"key": None}, {"key": str(uuid4())}, {"other": uuid4()}, {"key": uuid4(), "other": 1}],
)
def test_other_values_are_refused(values):
    prepared = Prepared(lambda key: Dialogue.objects.filter(pk=key), key=UUID)
    with pytest.raises(TypeError):
        prepared.rows(**values)


def test_a_place_that_is_not_in_the_sql_is_refused():
    with pytest.raises(TypeError, match="no place for text"):
        Prepared(lambda text: Person.objects.filter(username__icontains=text), text=str).rows(text="pia")


@pytest.mark.django_db(transaction=True)
def test_the_connection_of_a_thread_that_wrote_it_goes_with_the_thread(rows):
    prepared = Prepared(lambda key: Dialogue.objects.filter(pk=key), key=UUID)
    doors = []

    def ask():
        prepared.first(key=rows[0].pk)
        doors.append(weakref.ref(connections["default"]))
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    gc.collect()
    assert doors[0]() is None
    assert prepared.first(key=rows[1].pk) == rows[1]


@pytest.mark.django_db(transaction=True)
def test_threads_have_their_own_connections(rows):
    prepared = Prepared(lambda key: Dialogue.objects.select_related("person").filter(pk=key), key=UUID)
    found, gate = [], threading.Barrier(8)

    def ask(dialogue):
        gate.wait()
        for _ in range(20):
            row = prepared.first(key=dialogue.pk)
            found.append(row is not None and row.person_id == dialogue.person_id)
        connection.close()

    threads = [threading.Thread(target=ask, args=(rows[n % 2],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 160
