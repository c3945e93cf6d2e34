"""What crashes below `up` comes back by itself, and its children do not linger."""

import os
import signal

import psycopg
import pytest

from synth.stack import connect
from synth.stack.home import Home
from synth.tests.stack.tree import wait

pytestmark = pytest.mark.slow


def only(pids: list[int]) -> int:
    assert pids
    return pids[0]


@pytest.mark.parametrize("name", ["dummy-web", "dummy-worker", "guard.py"])
def test_a_crashed_child_is_restarted_without_remains(new_tree, name):
    tree = new_tree().start()
    before = tree.pids(name)
    os.kill(only(before), signal.SIGKILL)
    assert wait(lambda: len(tree.pids(name)) == len(before) and not set(before) & set(tree.pids(name)), 20)
    assert tree.signal() == 0
    assert tree.pids() == []


@pytest.mark.parametrize("name", ["/bin/postgres", "postgres: checkpointer", "valkey-server", "stack.keeper"])
def test_a_killed_store_recovers(new_tree, name):
    tree = new_tree().start()
    home = Home(tree.home)
    dsn = f"host={home.pg_socket_dir} user=synth dbname=synth"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create table kept (x int)")
        connection.execute("insert into kept values (7)")
    victim = only(tree.pids(name))
    os.kill(victim, signal.SIGKILL)
    assert wait(lambda: victim not in tree.pids() and tree.pids(name) and connect.is_ready(home), 40)

    def kept() -> bool:
        try:
            with psycopg.connect(dsn) as connection:
                return connection.execute("select x from kept").fetchone() == (7,)
        except psycopg.OperationalError:
            return False

    assert wait(kept, 20)
    assert tree.signal() == 0
    assert tree.pids() == []
