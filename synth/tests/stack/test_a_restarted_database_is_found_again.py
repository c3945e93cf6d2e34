"""PostgreSQL dies under a busy server: the pages say so, and the first request after its return works."""

from __future__ import annotations

import os
import signal
import threading

import httpx
import psycopg
import pytest

from synth.stack import connect
from synth.stack.home import Home
from synth.tests.stack.tree import REAL, Tree, wait

pytestmark = pytest.mark.slow
N = 8


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "home", script=REAL)
    yield made
    made.destroy()


def at_once(client: httpx.Client, n: int) -> list[int]:
    """The answers to `n` requests that come together."""
    statuses: list[int] = []
    together = threading.Barrier(n)

    def get() -> None:
        together.wait(10)
        statuses.append(client.get("/api/agents/").status_code)

    threads = [threading.Thread(target=get) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def sessions(home: Home) -> list[str]:
    """States of the other sessions of the database."""
    dsn = f"host={home.pg_socket_dir} user=synth dbname=synth"
    with psycopg.connect(dsn, autocommit=True) as watcher:
        rows = watcher.execute(
            "SELECT state FROM pg_stat_activity WHERE datname = 'synth' AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        return [row[0] for row in rows]


def test_the_first_requests_after_a_restart_work_and_those_between_are_told(tree):
    tree.start()
    home = Home(tree.home)
    key = tree.manage("create_api_key", "kit", "--role", "trainer").stdout.split()[-1]
    base, headers = f"http://127.0.0.1:{tree.port}", {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base, headers=headers, timeout=20) as client:
        assert at_once(client, N) == [200] * N
        assert set(sessions(home)) <= {"idle", "active"}
        for pid in tree.pids("stack.keeper"):
            os.kill(pid, signal.SIGSTOP)  # it would bring the server back at once
        os.kill(int(tree.server()), signal.SIGQUIT)
        assert wait(lambda: not tree.pids("/bin/postgres"), 20)
        down = client.get("/api/agents/")
        assert down.status_code == 503 and down.headers["Retry-After"]
        assert wait(lambda: client.get("/readyz").status_code == 503, 10)
        assert "database_down" in client.get("/readyz").text
        for pid in tree.pids("stack.keeper"):
            os.kill(pid, signal.SIGCONT)
        assert wait(lambda: connect.is_ready(home), 40)
        assert at_once(client, N) == [200] * N
    assert tree.signal() == 0
    assert tree.pids() == []
