"""Small process tools: children that die with their parent, locks that die with their holder."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(sig: int, before: Callable[[], None] | None = None) -> Callable[[], None]:
    """A `preexec_fn`: runs `before`, then asks the kernel to send `sig` when the spawning thread ends.

    The order matters: a change of user or user namespace clears the request. Linux only; elsewhere the guard
    process does this work.
    """
    parent = os.getpid()

    def run() -> None:
        if before is not None:
            before()
        if sys.platform == "linux":
            _libc.prctl(PR_SET_PDEATHSIG, sig)
            if os.getppid() != parent:
                os._exit(1)

    return run


def open_lock(path: Path) -> int:
    """File descriptor of a lock file, closed on exec; the file is never deleted."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Take the lock without waiting; False when another process holds it."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def wait_lock(handle: int, *, seconds: float, shared: bool = False) -> bool:
    """Take the lock within `seconds`; False when time ran out."""
    return wait_until(lambda: try_lock(handle, shared=shared), seconds)


def wait_until(condition: Callable[[], bool], seconds: float, step_s: float = 0.05) -> bool:
    """Poll `condition` until it holds or `seconds` passed; its last answer."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(step_s)
    return True


def interrupted_make() -> Callable[[], bool]:
    """A question: was the `make` that started this process killed, or sent a SIGINT or SIGHUP of its own?

    GNU make waits for its child then and does not pass the signal on; while it waits, the signal is blocked.
    """
    parent = os.getppid()
    try:
        is_make = Path(f"/proc/{parent}/comm").read_text().strip() in ("make", "gmake")
    except OSError:
        is_make = False

    def ask() -> bool:
        if not is_make:
            return False
        if os.getppid() != parent:
            return True
        try:
            lines = Path(f"/proc/{parent}/status").read_text().splitlines()
        except OSError:
            return False
        blocked = next((int(line.split()[1], 16) for line in lines if line.startswith("SigBlk")), 0)
        return bool(blocked & (1 << signal.SIGINT - 1 | 1 << signal.SIGHUP - 1))

    return ask


def stop(process: subprocess.Popen[bytes], signals: Sequence[tuple[int, float]]) -> None:
    """Send each signal and wait its seconds, until the process ended; SIGKILL to its group comes last."""
    for sig, seconds in signals:
        if process.poll() is not None:
            return
        process.send_signal(sig)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        kill_group(process.pid)
        process.wait()


def kill_group(leader: int) -> None:
    """SIGKILL what is left of the process group that `leader` made."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
