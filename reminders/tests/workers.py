"""Work in threads and processes, for the tests of deliveries."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from django.db import connection

from synth.tests.outbox.helpers import ROOT, child_env


def at_once(*jobs: Callable[[], object], timeout_s: float = 90) -> None:
    """Run the jobs in threads of their own, all begun before any ends; raise the first thing that broke."""
    start, broke = threading.Barrier(len(jobs)), list[BaseException]()

    def run(job: Callable[[], object]) -> None:
        try:
            start.wait(30)
            job()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            broke.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    assert not any(thread.is_alive() for thread in threads)
    if broke:
        raise broke[0]


def run_in_child(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in another process that works on this test's database."""
    command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
    return subprocess.run(
        command, env=child_env(**env), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def drain_in_child(*, later_s: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    """Carry everything in another process whose clock is `later_s` ahead."""
    code = (
        "from datetime import timedelta\nfrom django.utils.timezone import now\n"
        "from reminders.services import carrying\n"
        f"carrying.drain_all(clock=lambda: now() + timedelta(seconds={later_s}))\n"
    )
    return run_in_child(code, **env)
