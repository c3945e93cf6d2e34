"""A cluster is whole or absent: a killed initdb, a stale pid file and a foreign version do no harm."""

import os
import signal
import subprocess
import sys
import time

import pytest

from synth.stack import postgres
from synth.stack.connect import User, start_keeper
from synth.stack.home import CHECKOUT, Home, StackError
from synth.tests.stack.tree import wait


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "h").make()


def test_a_first_start_killed_at_any_moment_is_redone(home):
    for delay_s in (0.15, 0.4, 0.7, 1.0):
        keeper = start_keeper(home, "--losable")
        time.sleep(delay_s)
        os.killpg(keeper.pid, signal.SIGKILL)
        keeper.wait()
    user = User(home, "--losable")
    user.join()
    assert postgres.is_ready(home)
    assert list((home.path / "postgres").glob("new-*")) == []
    user.leave()


def test_a_half_made_data_folder_is_set_aside(home):
    data = home.path / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("18\n")
    user = User(home, "--losable")
    user.join()
    assert [path.name[:7] for path in (home.path / "postgres").glob("broken-*")] == ["broken-"]
    user.leave()


def test_a_pid_file_that_names_a_living_stranger_is_no_obstacle(home):
    user = User(home, "--losable")
    user.join()
    user.leave()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    pid_file = home.path / "postgres" / "data" / "postmaster.pid"
    pid_file.write_text(
        f"{stranger.pid}\n{pid_file.parent}\n1\n5432\n{home.pg_socket_dir}\n\n1 1\nready   \n"
    )
    assert not postgres.is_ready(home)
    user.join()
    user.leave()
    stranger.communicate(b"\n")


def test_a_cluster_of_another_major_version_is_refused_with_a_reason(home):
    data = home.path / "postgres" / "data"
    (data / "global").mkdir(parents=True)
    (data / "global" / "pg_control").touch()
    (data / "PG_VERSION").write_text("17\n")
    with pytest.raises(StackError, match="made by PostgreSQL 17"):
        User(home, "--losable").join()
    assert (data / "PG_VERSION").exists()


def test_a_missing_binary_package_is_named(monkeypatch):
    monkeypatch.setenv("SYNTH_PG_MODULE", "no_such_package")
    with pytest.raises(StackError, match="no_such_package"):
        postgres.binaries()


def test_the_stack_imports_neither_django_nor_a_package():
    code = "import sys, synth.stack.up, synth.stack.keeper; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in seen.stdout.split()}
    assert loaded & {"django", "celery", "redis", "psycopg", "torch"} == set()
    assert wait(lambda: True)
