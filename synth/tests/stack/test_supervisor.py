"""The supervisor on its own: order, output, restarts, refusals and an end in time."""

import io
import os
import time

import pytest

from synth.stack.home import StackError
from synth.stack.supervisor import Process, Supervisor
from synth.tests.stack.tree import wait


@pytest.fixture
def supervisor():
    made = Supervisor(io.StringIO())
    yield made
    made.n_signals = 2
    made.stop()


def python(name: str, code: str, **options) -> Process:
    return Process(name, ("python", "-u", "-c", code), **options)


def text(supervisor: Supervisor) -> str:
    assert isinstance(supervisor.out, io.StringIO)
    return supervisor.out.getvalue()


def test_a_command_is_run_to_its_end_with_all_its_output(supervisor):
    code = "import os; print('one'); print(os.environ['MARK'], end=''); raise SystemExit(3)"
    assert supervisor.run_once(python("once", code, env={"MARK": "two"})) == 3
    assert "    once | one\n" in text(supervisor)
    assert "    once | two\n" in text(supervisor)


def test_a_process_that_ends_is_started_again(supervisor):
    process = python("short", "import time; time.sleep(0.3)")
    supervisor.start(process)
    first = process.child
    assert supervisor.wait_for(lambda: process.child is not first, "no restart", 10)
    assert "short ended (exit status 0); restart in 1 s" in text(supervisor)


def test_a_process_that_keeps_failing_during_the_start_is_given_up(supervisor):
    supervisor.start(python("bad", "raise SystemExit(1)"))
    with pytest.raises(StackError, match="bad fails again and again"):
        supervisor.wait_for(lambda: False, "never", 30)


def test_waiting_too_long_is_refused_with_what_was_awaited(supervisor):
    with pytest.raises(StackError, match="the moon did not answer in 0 s"):
        supervisor.wait_for(lambda: False, "the moon did not answer", 0.2)


def test_a_stop_ends_the_start_early(supervisor):
    supervisor.n_signals = 1
    assert supervisor.wait_for(lambda: False, "never", 30) is False


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace(supervisor):
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(99)"
    process = python("stubborn", code, grace_s=1)
    supervisor.start(Process("first", ("sleep", "99")))
    supervisor.start(process)
    supervisor.wait_for(lambda: "up" in text(supervisor), "no output", 10)
    begun = time.monotonic()
    supervisor.stop()
    assert 0.9 < time.monotonic() - begun < 10
    assert process.child is not None
    assert process.child.returncode == -9


SAYS_ITS_END = """
import signal, sys, time
def end(*_):
    time.sleep({linger}); print("end of {name}"); sys.exit(0)
signal.signal(signal.SIGTERM, end); print("{name} up"); time.sleep(99)
"""


def test_the_first_process_outlives_the_others(supervisor):
    for name, linger in (("first", 0), ("second", 1)):
        supervisor.start(python(name, SAYS_ITS_END.format(name=name, linger=linger)))
    supervisor.wait_for(lambda: text(supervisor).count(" up") == 2, "no output", 10)
    supervisor.stop()
    assert text(supervisor).index("end of second") < text(supervisor).index("end of first")


def test_a_closed_terminal_does_not_stop_it(supervisor):
    read, write = os.pipe()
    supervisor.out = os.fdopen(write, "w")
    os.close(read)
    supervisor.say("into the void")
    supervisor.say("again")


def test_a_killed_guard_is_replaced_and_told_everything(supervisor):
    process = python("steady", "import time; time.sleep(99)")
    supervisor.start(process)
    assert supervisor.guard is not None
    first = supervisor.guard
    first.kill()
    first.wait()
    supervisor.wait_for(lambda: supervisor.guard is not first, "no guard", 5)
    assert supervisor.guard.stdin is not None
    assert process.child is not None
    supervisor.guard.stdin.close()  # as if the supervisor had been killed
    assert wait(lambda: not process.is_running, 10)
