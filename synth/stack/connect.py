"""Finds the running embedded stores of a home, or starts them for as long as this process needs them.

`before_settings(argv)` is called by manage.py before Django reads its settings. With both store URLs in the
environment it does nothing; with neither it sets both, marks the environment `SYNTH_EMBEDDED=1`, and joins
the users of the stores. See `synth.stack.keeper` for who stops them.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import MutableMapping

from synth.stack import keeper, postgres, valkey
from synth.stack.home import CHECKOUT, SECRETS, Home, StackError, check_urls, resolve, secret
from synth.stack.procs import open_lock, try_lock, wait_lock, wait_until

START_S = 120.0
# Commands that read settings but touch no store. `up` brings its own.
WITHOUT_STORES = frozenset(
    "help version up check spectacular collectstatic diffsettings makemessages compilemessages "
    "startapp startproject findstatic".split()
)


def set_urls(home: Home, env: MutableMapping[str, str] | None = None) -> None:
    """Point the environment at the home's embedded stores."""
    env = os.environ if env is None else env
    env["DATABASE_URL"] = home.database_url
    env["REDIS_URL"] = home.redis_url
    env["SYNTH_HOME"] = str(home.path)
    env["SYNTH_EMBEDDED"] = "1"


def make_secrets(home: Home) -> None:
    """Generate the home's missing secrets, so that settings find them."""
    home.make()
    for name in SECRETS:
        secret(name)


def before_settings(argv: list[str]) -> None:
    """Make the stores that the command `argv[1]` needs reachable; StackError when that is impossible."""
    if check_urls():
        return
    home = resolve()
    set_urls(home)
    make_secrets(home)
    command = argv[1] if len(argv) > 1 else "help"
    if command in WITHOUT_STORES or command.startswith("-") or {"-h", "--help"} & set(argv):
        return
    user = User(home)
    user.join()
    atexit.register(user.leave)


class User:
    """One process that uses the stores of a home; `join` makes them run, `leave` lets them end."""

    def __init__(self, home: Home, *options: str) -> None:
        self.home = home
        self.options = options
        self.handle: int | None = None
        self.pid = os.getpid()

    def announce(self) -> None:
        """Hold the users' lock; waits while a keeper is stopping the stores."""
        self.home.make()
        self.handle = open_lock(self.home.run / "users.lock")
        if not wait_lock(self.handle, seconds=START_S, shared=True):
            raise StackError(f"the stores of {self.home.path} are stopping and do not end")

    def join(self) -> None:
        """Announce this user and return when both stores answer, started by whoever came first."""
        self.announce()
        end = time.monotonic() + START_S
        child: subprocess.Popen[bytes] | None = None
        while not is_ready(self.home):
            if child is None or child.poll() is not None:
                if child is not None and child.returncode != keeper.BUSY:
                    raise StackError(self._reason())
                if child is not None:
                    time.sleep(0.2)
                child = start_keeper(self.home, *self.options)
            if time.monotonic() > end:
                raise StackError(f"the stores of {self.home.path} did not start; see {self.home.log}")
            time.sleep(0.02)

    def leave(self) -> None:
        """Stop using the stores; the last user stops them and waits for that."""
        if self.handle is None or os.getpid() != self.pid:
            return
        if try_lock(self.handle):
            stop_keeper(self.home)
        os.close(self.handle)
        self.handle = None

    def _reason(self) -> str:
        lines = (self.home.log / "keeper.log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else f"the stores of {self.home.path} did not start"


def is_ready(home: Home) -> bool:
    """Whether both stores of the home answer."""
    return valkey.is_ready(home) and postgres.is_ready(home)


def keeper_command(home: Home, *options: str) -> list[str]:
    """The command line of a keeper for this home."""
    return [sys.executable, "-m", "synth.stack.keeper", str(home.path), *options]


def start_keeper(home: Home, *options: str) -> subprocess.Popen[bytes]:
    """Start a keeper that outlives this process for as long as the home has users."""
    with open(home.log / "keeper.log", "ab") as log:
        return subprocess.Popen(
            keeper_command(home, *options),
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def stop_keeper(home: Home, seconds: float = 25.0) -> bool:
    """Ask the home's keeper to stop and wait until it has ended; False when it has not."""
    lock = open_lock(home.run / "keeper.lock")
    try:
        if try_lock(lock):
            return True
        text = os.pread(lock, 32, 0)
        if text.strip().isdigit():
            try:
                os.kill(int(text), signal.SIGTERM)
            except (ProcessLookupError, PermissionError):
                return False
        return wait_until(lambda: try_lock(lock), seconds, 0.02)
    finally:
        os.close(lock)
