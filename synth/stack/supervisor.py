"""Runs processes in order, restarts what crashes, stops all of them in time, and leaves none behind.

Each process leads its own session, gets SIGTERM from the kernel when the supervisor dies, and is known to the
guard (see `synth.stack.guard`), which kills what does not obey.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from synth.stack.home import CHECKOUT, StackError
from synth.stack.procs import die_with_parent, interrupted_make, kill_group

STEADY_S = 60.0
MAX_BACKOFF_S = 30.0
EARLY_FAILURES = 3
ASK_EVERY_S = 0.25


@dataclass
class Process:
    """One supervised command; `env` is added to the supervisor's own."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    grace_s: float = 10.0
    child: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    next_at: float | None = None
    pending: bytes = b""

    @property
    def is_running(self) -> bool:
        """Whether its process exists and has not ended."""
        return self.child is not None and self.child.poll() is None


class Supervisor:
    """Call `start`, `run_once`, `wait_for` in the order wanted, then `watch`, and always `stop`."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.processes: list[Process] = []
        self.selector = selectors.DefaultSelector()
        self.n_signals = 0
        self.has_interrupted_make = interrupted_make()
        self.is_ready = False
        self.guard: subprocess.Popen[bytes] | None = None

    def catch_signals(self) -> None:
        """SIGINT, SIGTERM and SIGHUP ask for a stop; a second one makes it hasty."""
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self.n_signals += 1

    def say(self, line: str, source: str = "synth") -> None:
        """Print one line; a closed terminal is no reason to fail."""
        try:
            self.out.write(f"{source:>8} | {line}\n")
            self.out.flush()
        except (OSError, ValueError):
            self.out = open(os.devnull, "w")  # noqa: SIM115 - stays open until the end

    def start(self, process: Process) -> None:
        """Start a process and keep it running from now on."""
        self.processes.append(process)
        self._spawn(process)

    def run_once(self, process: Process) -> int | None:
        """Run a command to its end; its exit status, or None when a stop was asked for meanwhile."""
        self._spawn(process)
        child = process.child
        assert child is not None
        while child.poll() is None and not self.n_signals:
            self._pump(0.05)
        self._end([process], hasty=False)
        self._drain(process)
        return None if self.n_signals else child.returncode

    def wait_for(self, condition: Callable[[], bool], what: str, seconds: float) -> bool:
        """Wait while watching; False when asked to stop. StackError when time runs out or a process fails."""
        end = time.monotonic() + seconds
        asked_at = 0.0
        while not self.n_signals:
            if time.monotonic() - asked_at >= ASK_EVERY_S:  # output wakes this loop far more often
                asked_at = time.monotonic()
                if condition():
                    return True
            self._pump(ASK_EVERY_S)
            self._revive()
            if time.monotonic() > end:
                raise StackError(f"{what} in {seconds:.0f} s; see the lines above")
        return False

    def watch(self) -> None:
        """Forward output and restart what ends, until a signal asks for a stop."""
        self.is_ready = True
        while not self.n_signals:
            self._pump(0.25)
            self._revive()

    def stop(self) -> None:
        """Stop the roles together, then what was started first (the stores), then the guard."""
        self._end(self.processes[1:], hasty=self.n_signals > 1)
        self._end(self.processes[:1], hasty=False)
        if self.guard is not None and self.guard.stdin is not None:
            self._tell_guard("bye")
            self.guard.stdin.close()
            self.guard.wait()

    def _spawn(self, process: Process) -> None:
        self._ensure_guard()
        python = {"python": sys.executable}
        command = [python.get(process.command[0], process.command[0]), *process.command[1:]]
        process.child = subprocess.Popen(
            command,
            env={**os.environ, **process.env},
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        process.started_at, process.next_at = time.monotonic(), None
        self._tell_guard(f"+{process.child.pid}")
        if process.child.stdout is not None:
            os.set_blocking(process.child.stdout.fileno(), False)
            self.selector.register(process.child.stdout, selectors.EVENT_READ, process)

    def _revive(self) -> None:
        """Restart ended processes: after 1, 2, 4 … 30 s; a steady minute forgives earlier failures."""
        now = time.monotonic()
        if not self.n_signals and self.has_interrupted_make():
            self.n_signals = 1
        self._ensure_guard()
        for process in self.processes:
            child = process.child
            if child is None or child.poll() is None:
                continue
            if process.next_at is None:
                kill_group(child.pid)  # children that a crashed parent left
                self._forget(process)
                steady = now - process.started_at > STEADY_S
                process.failures = 1 if steady else process.failures + 1
                if not self.is_ready and process.failures >= EARLY_FAILURES:
                    raise StackError(f"{process.name} fails again and again; see the lines above")
                delay = min(MAX_BACKOFF_S, 2.0 ** (process.failures - 1))
                process.next_at = now + delay
                self.say(f"{process.name} ended ({_status(child.returncode)}); restart in {delay:.0f} s")
            elif now >= process.next_at:
                self._spawn(process)
                self.say(f"{process.name} restarted")

    def _end(self, processes: Sequence[Process], *, hasty: bool) -> None:
        """SIGTERM to all at once, each its grace, SIGKILL to the group of whoever is left."""
        begun = time.monotonic()
        for process in processes:
            if process.child is not None and process.is_running:
                process.child.send_signal(signal.SIGTERM)
        while left := [process for process in processes if process.is_running]:
            self._pump(0.05)
            if self.n_signals > 1:
                hasty = True
            for process in left:
                grace = 0.5 if hasty else process.grace_s
                if process.child is not None and time.monotonic() - begun > grace:
                    kill_group(process.child.pid)
        for process in processes:
            if process.child is not None:
                kill_group(process.child.pid)
                self._forget(process)

    def _forget(self, process: Process) -> None:
        self._drain(process)
        if process.child is not None:
            self._tell_guard(f"-{process.child.pid}")

    def _pump(self, seconds: float) -> None:
        if not self.selector.get_map():
            time.sleep(seconds)
            return
        for key, _ in self.selector.select(seconds):
            process: Process = key.data
            if not self._read(process):
                self.selector.unregister(key.fileobj)

    def _read(self, process: Process) -> bool:
        """Print the complete lines a process wrote; False at the end of its output."""
        if process.child is None or process.child.stdout is None:
            return False
        data = process.child.stdout.read()
        if data is None:
            return True
        *lines, process.pending = (process.pending + data).split(b"\n")
        for line in lines:
            self.say(line.decode(errors="replace"), process.name)
        return bool(data)

    def _drain(self, process: Process) -> None:
        """Print the rest of an ended process's output and let go of its pipe."""
        if process.child is None or process.child.stdout is None or process.child.stdout.closed:
            return
        self._read(process)
        if process.pending:
            self.say(process.pending.decode(errors="replace"), process.name)
            process.pending = b""
        if process.child.stdout in {key.fileobj for key in self.selector.get_map().values()}:
            self.selector.unregister(process.child.stdout)
        process.child.stdout.close()

    def _ensure_guard(self) -> None:
        if self.guard is not None and self.guard.poll() is None:
            return
        self.guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        for process in self.processes:
            if process.child is not None and process.is_running:
                self._tell_guard(f"+{process.child.pid}")

    def _tell_guard(self, note: str) -> None:
        if self.guard is None or self.guard.stdin is None or self.guard.stdin.closed:
            return
        try:
            self.guard.stdin.write(f"{note}\n".encode())
            self.guard.stdin.flush()
        except BrokenPipeError:
            return  # it was killed; the next look starts another and tells it everything


def _status(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit status {returncode}"
