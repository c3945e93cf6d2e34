"""A command that is interrupted, or whose reader leaves, ends without a traceback."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from django.conf import settings


@pytest.fixture
def command():
    """Starts `manage.py shell -c CODE` in a process of its own, as a terminal would."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, before: Callable[[], object] = int) -> subprocess.Popen[str]:
        def begin() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            before()

        env = {key: value for key, value in os.environ.items() if key != "SYNTH_EMBEDDED"}
        process = subprocess.Popen(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
            cwd=settings.BASE_DIR,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=begin,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_ctrl_c_is_one_line_and_still_the_end_by_that_signal(command):
    process = command("import time; print('at work', flush=True); time.sleep(60)")
    assert process.stdout.readline() == "at work\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said == "manage.py: interrupted\n"
    assert process.returncode == -signal.SIGINT, "a loop in a shell ends with it"


@pytest.mark.parametrize("n_lines", [1, 100_000])
def test_a_reader_who_leaves_is_no_fault(command, n_lines):
    code = f"import time; time.sleep(1); print('line\\n' * {n_lines})"
    process = command(code)
    process.stdout.close()
    process.stdout = None
    _, said = process.communicate(timeout=30)
    assert said == ""


def test_every_other_end_is_told_as_before(command):
    process = command("raise LookupError('what happened')")
    _, said = process.communicate(timeout=30)
    assert "Traceback" in said and "LookupError: what happened" in said and process.returncode == 1


def test_a_connection_that_broke_is_no_reader_who_left(command):
    process = command("raise BrokenPipeError(32, 'of a host')")
    _, said = process.communicate(timeout=30)
    assert "BrokenPipeError: [Errno 32] of a host" in said and process.returncode == 1


def test_a_command_that_says_nothing_needs_no_output(command):
    process = command("pass", before=lambda: os.close(1))
    _, said = process.communicate(timeout=30)
    assert (said, process.returncode) == ("", 0)
