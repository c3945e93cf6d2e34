"""Starts a real stack as a process tree and finds every process that belongs to it."""

from __future__ import annotations

import os
import pwd
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synth.stack.home import CHECKOUT

DUMMY = ("-m", "synth.tests.stack.dummy_up")
REAL = (str(CHECKOUT / "manage.py"), "up")
_ACCOUNT = pwd.getpwnam("nobody")
NOBODY: dict[str, Any] = {"user": _ACCOUNT.pw_uid, "group": _ACCOUNT.pw_gid, "extra_groups": []}
UNSET = ("DATABASE_URL", "REDIS_URL", "SYNTH_EMBEDDED", "SECRET_KEY", "GIFT_CODE_KEY", "FIELD_KEY")


def environment(home: Path, **extra: str) -> dict[str, str]:
    """The environment of a person at a fresh terminal, with another home."""
    env = {key: value for key, value in os.environ.items() if key not in UNSET}
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    return {**env, "SYNTH_HOME": str(home), "PYTHONPATH": f"{CHECKOUT}:{packages}", **extra}


def free_port() -> int:
    """A port that nobody listens on now, and that no outgoing connection is given before it is used: those
    come from 32768 on.
    """
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def wait(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Poll until the condition holds; False when the time is over."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def python_of_nobody() -> str | None:
    """A Python that the user `nobody` can run; None where there is none, or when this is not root."""
    if os.geteuid() != 0:
        return None
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            test = [python, "-c", "import ctypes, ssl"]
            if subprocess.run(test, capture_output=True, cwd="/", **NOBODY).returncode == 0:
                return python
        except OSError:
            continue
    return None


class Tree:
    """One `up` on its own home; `start()` returns when it says READY."""

    def __init__(self, home: Path, script: tuple[str, ...] = DUMMY, **env: str) -> None:
        self.home = home.resolve()
        self.port = free_port()
        self.env = environment(self.home, PORT=str(self.port), **env)
        self.script = script
        self.user: dict[str, Any] = {}  # NOBODY: run as that user
        self.python = sys.executable
        self.log = home.parent / f"{home.name[:40]}.out"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 90) -> Tree:
        """Start and wait; AssertionError with the output when it does not come up."""
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [self.python, *self.script],
                env=self.env,
                cwd=CHECKOUT,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                **self.user,
            )
        process = self.process
        wait(lambda: "READY" in self.output() or process.poll() is not None, seconds)
        assert "READY" in self.output(), self.output()
        return self

    def output(self) -> str:
        """Everything it printed so far."""
        return self.log.read_text(errors="replace")

    def pids(self, containing: str = "") -> list[int]:
        """Living processes with this home in their environment or as their folder, by command line."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                environ = (entry / "environ").read_bytes()
                folder = os.readlink(entry / "cwd")
            except OSError:
                continue
            ours = f"SYNTH_HOME={self.home}\0".encode() in environ or folder.startswith(f"{self.home}/")
            if ours and command and containing in command:
                found.append(int(entry.name))
        return sorted(found)

    def server(self) -> str:
        """Pid of the PostgreSQL server, as its own file tells."""
        return (self.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0]

    def signal(self, sig: int = signal.SIGINT) -> int:
        """Signal `up` itself and wait for its end; its exit status."""
        assert self.process is not None
        self.process.send_signal(sig)
        return self.process.wait(60)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a manage.py command on the same home."""
        command = [self.python, str(CHECKOUT / "manage.py"), *arguments]
        return subprocess.run(
            command, env=self.env, cwd=CHECKOUT, capture_output=True, text=True, timeout=120, **self.user
        )

    def destroy(self) -> None:
        """Kill what a failed test left."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
