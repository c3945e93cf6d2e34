"""A closed connection waits for its next user in this process: with nothing of the last one, and alive."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction

from synth.net import database
from synth.net.postgresql import kept
from synth.net.postgresql.kept import shelf

pytestmark = pytest.mark.django_db(transaction=True)
LOCK = 77_001


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    connection.close()
    shelf.clear()
    yield
    connection.close()
    shelf.clear()


@pytest.fixture
def outside() -> Iterator[psycopg.Connection]:
    """A session of somebody else on the same database."""
    params = connection.get_connection_params()
    with psycopg.connect(**params | {"autocommit": True, "cursor_factory": psycopg.Cursor}) as session:
        yield session


def ask(sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0] if cursor.description else None


def backend() -> object:
    return ask("SELECT pg_backend_pid()")


def in_thread(work: Callable[[], object]) -> object:
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_who_left_comes_back_to_the_same_session():
    first = backend()
    database.leave()
    assert connection.connection is None and len(shelf) == 1
    assert backend() == first and len(shelf) == 0


def test_while_one_waits_another_works_with_its_connection():
    first = backend()
    database.leave()
    assert in_thread(backend) == first
    assert backend() == first


def test_two_at_once_have_two():
    first = backend()
    assert in_thread(backend) != first
    assert len(shelf) == 1


@pytest.mark.parametrize(
    ("leave_behind", "look"),
    [
        ("SET statement_timeout = '1234ms'", "SHOW statement_timeout"),
        ("SET TIME ZONE 'Asia/Tokyo'", "SHOW timezone"),
        ("SET ROLE pg_monitor", "SELECT current_user"),
        ("CREATE TEMP TABLE left_here (x int)", "SELECT to_regclass('left_here')"),
        ("LISTEN left_here", "SELECT count(*) FROM pg_listening_channels()"),
        ("PREPARE left_here AS SELECT 1", "SELECT count(*) FROM pg_prepared_statements"),
    ],
)
def test_nothing_of_a_session_reaches_the_next_user(leave_behind, look):
    before, first = ask(look), backend()
    ask(leave_behind)
    assert ask(look) != before
    connection.close()
    assert backend() == first and ask(look) == before


def test_a_session_lock_ends_with_the_use_not_with_the_session(outside):
    ask(f"SELECT pg_advisory_lock({LOCK})")
    take = f"SELECT pg_try_advisory_lock({LOCK})"
    assert outside.execute(take).fetchone() == (False,)
    connection.close()
    assert len(shelf) == 1 and outside.execute(take).fetchone() == (True,)


def test_what_is_in_a_transaction_is_not_kept(outside):
    with pytest.raises(OperationalError), transaction.atomic():
        first = backend()
        connection.close()
        assert len(shelf) == 0
        raise OperationalError("gone")
    gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    assert wait_for(lambda: outside.execute(gone, [first]).fetchone() == (0,))
    connection.close()
    connection.set_autocommit(False)
    backend()
    connection.close()
    assert len(shelf) == 0 and connection.get_autocommit()


def test_the_cut_off_sessions_are_not_given_to_anybody(outside):
    n = 4
    together = threading.Barrier(n)

    def use() -> object:
        pid = backend()
        together.wait(10)
        return pid

    threads = [threading.Thread(target=lambda: in_thread(use)) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf) == n
    outside.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert backend()
    assert len(shelf) == 0


@pytest.mark.parametrize("limit", [0, 1])
def test_no_more_than_the_limit_are_kept(monkeypatch, limit):
    monkeypatch.setitem(connection.settings_dict, "KEPT_CONNECTIONS", limit)
    backend()
    in_thread(backend)
    connection.close()
    assert len(shelf) == limit


def test_what_nobody_uses_is_closed(monkeypatch, outside):
    monkeypatch.setattr(kept, "IDLE_S", 0.3)
    first = backend()
    connection.close()
    alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    assert wait_for(lambda: outside.execute(alive, [first]).fetchone() == (0,))
    assert len(shelf) == 0
    assert wait_for(lambda: "idle-connections" not in {thread.name for thread in threading.enumerate()})
    assert backend() != first


def test_a_forked_child_leaves_the_parents_sessions_alone():
    first = backend()
    connection.close()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            mine = backend()
            connection.close()
            os.write(writing, str(mine).encode() if backend() == mine else b"another")
            shelf.clear()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os.close(writing)
    said = os.read(reading, 100).decode()
    os.close(reading)
    assert said.isdigit() and int(said) != first
    assert len(shelf) == 1 and backend() == first


def test_another_database_is_never_mistaken_for_this_one():
    backend()
    connection.close()
    other = connections.create_connection("default")
    other.settings_dict = {**other.settings_dict, "NAME": "postgres"}
    with other.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        assert cursor.fetchone() == ("postgres",)
    other.close()
    assert ask("SELECT current_database()") == connection.settings_dict["NAME"]
    connection.close()


def test_a_database_about_to_be_dropped_is_let_go():
    backend()
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    assert len(shelf) == 0


def wait_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()
