"""The PostgreSQL and Redis of the operating system, run privately over TCP on free ports, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import pytest

from synth.stack.postgres import choose_user
from synth.stack.procs import die_with_parent
from synth.tests.stack.tree import free_port, wait


def system_postgres() -> Path | None:
    """The `bin` folder of the newest PostgreSQL the system has, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class RealServers:
    """Context manager; skips the test where the system has no PostgreSQL or Redis."""

    def __init__(self) -> None:
        binaries, redis = system_postgres(), shutil.which("redis-server") or shutil.which("valkey-server")
        if binaries is None or redis is None:
            pytest.skip("the system has no PostgreSQL or no Redis")
        self.binaries, self.redis = binaries, redis
        self.folder = Path(tempfile.mkdtemp(prefix="synth-servers-"))
        self.ports = free_port(), free_port()
        self.running: list[subprocess.Popen[bytes]] = []

    @property
    def urls(self) -> dict[str, str]:
        """The two variables that make Synth use them."""
        return {
            "DATABASE_URL": f"postgres://synth:word@127.0.0.1:{self.ports[0]}/postgres",
            "REDIS_URL": f"redis://127.0.0.1:{self.ports[1]}/0",
        }

    def __enter__(self) -> RealServers:
        try:
            self._start_both()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start_both(self) -> None:
        word = self.folder / "word"
        word.write_text("word\n")
        data = self.folder / "data"
        initdb = ["initdb", "-D", str(data), "-U", "synth", "-A", "scram-sha-256", f"--pwfile={word}", "-N"]
        assert self._start([*initdb, "-E", "UTF8", "--locale=C.UTF-8"]).wait(60) == 0
        postgres = ["postgres", "-D", str(data), "-p", str(self.ports[0]), "-h", "127.0.0.1"]
        self.running.append(self._start([*postgres, "-k", str(self.folder), "-c", "fsync=off"]))
        redis = [self.redis, "--port", str(self.ports[1]), "--bind", "127.0.0.1", "--save", ""]
        self.running.append(subprocess.Popen(redis, cwd=self.folder, stdout=subprocess.DEVNULL))
        pid_file = data / "postmaster.pid"
        assert wait(lambda: pid_file.exists() and "ready" in pid_file.read_text(), 30)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.running:
            process.send_signal(signal.SIGINT)
        for process in self.running:
            process.wait(30)
        shutil.rmtree(self.folder)

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        user = choose_user()
        if user.mode == "setuid":
            os.chown(self.folder, user.uid, user.gid)
        return subprocess.Popen(
            [str(self.binaries / command[0]), *command[1:]],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent(signal.SIGINT, user.before),
            user=user.uid if user.mode == "setuid" else None,
        )
