"""An early pytest plugin: private PostgreSQL and Valkey in a temporary home, before Django reads settings.

With DATABASE_URL and REDIS_URL given, those servers are used. Workers of pytest-xdist share the controller's
stores through the environment. The keeper removes everything when this process ends, also by SIGKILL.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

import pytest

from synth.stack.connect import User, set_urls
from synth.stack.home import SECRETS, Home, StackError, check_urls


def start() -> None:
    """Start stores that may lose data, unless the environment names some; test secrets are set too."""
    for name in SECRETS:
        # Fixed values: tests run with servers given too, where no file of secrets may be used.
        os.environ.setdefault(name, "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=")
    if check_urls():
        own_redis_database(os.environ)
        return
    home = Home(Path(tempfile.mkdtemp(prefix="synth-test-")).resolve())
    user = User(home, "--losable", "--temporary")
    user.join()
    set_urls(home)
    atexit.register(user.leave)


def own_redis_database(env: MutableMapping[str, str]) -> None:
    """Give a pytest-xdist worker a Redis database of its own: tests flush theirs while others count in it."""
    worker = env.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if worker.isdigit() and env["REDIS_URL"].startswith("unix://"):
        env["REDIS_URL"] = f"{env['REDIS_URL'].partition('?')[0]}?db={int(worker) % 15 + 1}"


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Count, in the very last line, the tests that were skipped because this machine lacks something."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    skipped = reporter.stats.get("skipped", [])
    if skipped:
        reasons = sorted({str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped})
        reporter.write_line(f"skipped on this machine: {len(skipped)} ({'; '.join(reasons)})")


try:
    start()
except StackError as error:
    raise pytest.UsageError(str(error)) from error
