"""However `up` ends, no process of it is left, and it can start again at once."""

import os
import signal
import time

import pytest

from synth.tests.stack.tree import wait

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_in_time(new_tree, sig):
    tree = new_tree().start()
    begun = time.monotonic()
    assert tree.signal(sig) == 0
    assert time.monotonic() - begun < 40
    assert tree.pids() == []
    assert "database system is shut down" in (tree.home / "log" / "postgres.log").read_text()


def test_a_killed_supervisor_leaves_no_process_and_a_new_one_starts(new_tree):
    tree = new_tree().start()
    assert len(tree.pids()) > 8
    tree.signal(signal.SIGKILL)
    assert wait(lambda: not tree.pids(), 15), [tree.pids(), tree.output()]
    tree.start()
    tree.signal(signal.SIGKILL)
    tree.start()  # also while the old one is still going down
    assert tree.signal() == 0
    assert wait(lambda: not tree.pids(), 10)


def test_a_second_start_is_quick(new_tree):
    tree = new_tree().start()
    tree.signal()
    begun = time.monotonic()
    tree.start()
    assert time.monotonic() - begun < 15
    tree.signal()


def test_killing_guard_and_supervisor_together_still_ends_what_obeys(new_tree):
    tree = new_tree().start()
    for pid in tree.pids("guard.py"):
        os.kill(pid, signal.SIGKILL)
    tree.signal(signal.SIGKILL)
    assert wait(lambda: not tree.pids("postgres") and not tree.pids("dummy-web"), 15)
