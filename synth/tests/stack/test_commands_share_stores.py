"""Any manage.py command finds the running stores of its home, or starts them for its own duration."""

import os
import signal
import subprocess
import sys
import time

import pytest

from synth.stack import connect
from synth.stack.home import CHECKOUT, Home
from synth.tests.stack.tree import wait

SLEEPER = "import sys, time; from django.db import connection as c; c.ensure_connection(); {then}"


def shell(tree, then: str) -> subprocess.Popen[str]:
    command = [
        tree.python,
        str(CHECKOUT / "manage.py"),
        "shell",
        "--no-imports",
        "-c",
        SLEEPER.format(then=then),
    ]
    return subprocess.Popen(command, env=tree.env, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)


def test_a_command_starts_the_stores_and_leaves_none_running(new_tree):
    tree = new_tree()
    done = tree.manage("showmigrations", "synth")
    assert done.returncode == 0, done.stderr
    assert tree.pids() == []


def test_a_command_that_needs_no_store_starts_none(new_tree):
    tree = new_tree()
    assert tree.manage("check").returncode == 0
    assert not (tree.home / "postgres").exists()


@pytest.mark.slow
def test_commands_at_the_same_time_share_one_keeper(new_tree):
    tree = new_tree()
    running = [shell(tree, f"time.sleep({seconds}); print('fine')") for seconds in (0, 0.5, 1, 3)]
    assert wait(lambda: connect.is_ready(Home(tree.home)))
    assert wait(lambda: len(tree.pids("stack.keeper")) == 1)  # the others saw its lock and left
    assert [process.communicate(timeout=60)[0].strip() for process in running] == ["fine"] * 4
    assert wait(lambda: tree.pids() == [], 10)


@pytest.mark.slow
def test_a_killed_command_leaves_no_store_behind(new_tree):
    tree = new_tree()
    process = shell(tree, "print('in', flush=True); time.sleep(99)")
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"
    process.kill()
    process.wait()
    assert wait(lambda: tree.pids() == [], 15)


@pytest.mark.slow
def test_a_command_uses_the_stores_of_up_and_does_not_stop_them(new_tree):
    tree = new_tree().start()
    server = tree.server()
    assert tree.manage("showmigrations", "synth").returncode == 0
    time.sleep(1)
    assert tree.server() == server
    assert tree.signal() == 0
    assert tree.pids() == []


@pytest.mark.slow
def test_up_takes_over_the_stores_of_a_running_command(new_tree):
    tree = new_tree()
    command = shell(tree, "print('in', flush=True); time.sleep(4); print(c.is_usable())")
    assert command.stdout is not None
    assert command.stdout.readline() == "in\n"
    server = tree.server()
    tree.start()
    assert tree.server() == server
    assert command.stdout.readline() == "True\n"
    assert command.wait(30) == 0
    time.sleep(1)
    assert tree.server() == server
    assert tree.signal() == 0
    assert wait(lambda: tree.pids() == [], 15)


@pytest.mark.slow
def test_commands_started_together_with_up_all_succeed(new_tree):
    tree = new_tree()
    early = [shell(tree, "print('fine')") for _ in range(3)]
    tree.start()
    late = [shell(tree, "print('fine')") for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in early + late] == ["fine"] * 5
    assert tree.signal(signal.SIGTERM) == 0
    assert wait(lambda: tree.pids() == [], 15)


@pytest.mark.slow
def test_a_killed_test_run_leaves_no_process_and_no_folder(tmp_path):
    code = "import synth.testing.stores, os; print(os.environ['SYNTH_HOME'], flush=True); input()"
    env = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=env,
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    home = process.stdout.readline().strip()
    assert os.path.isdir(home)
    process.kill()
    process.wait()
    assert wait(lambda: not os.path.exists(home), 15)
