"""The keeper process: runs a home's PostgreSQL and Valkey while somebody uses them, restarts what crashes.

`python -m synth.stack.keeper HOME [--standby] [--losable] [--temporary]`. There is one keeper a home, by
a lock. Users hold a shared lock on `run/users.lock`; when the keeper can take that lock, nobody is left, and
it stops the stores. A killed user thus never leaves a process, and a newcomer waits for the stop to end.
Exit 0: done; 1: a store failed, reason on standard error; 3: another keeper is there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from synth.stack.home import Home, StackError
from synth.stack.postgres import Postgres
from synth.stack.procs import open_lock, stop, try_lock
from synth.stack.valkey import Valkey

BUSY = 3
POLL_S = 0.2
START_S = 90.0
STEADY_S = 60.0


class Keeper:
    """The stores of one home, watched by a loop; `run()` returns an exit status."""

    def __init__(self, home: Home, *, losable: bool = False) -> None:
        self.home = home
        self.stores: list[Postgres | Valkey] = [
            Valkey(home, losable=losable),
            Postgres(home, losable=losable),
        ]
        self.stopping = False
        self.users = open_lock(home.run / "users.lock")
        self.crashes = {store.name: 0 for store in self.stores}
        self.next_at = {store.name: 0.0 for store in self.stores}
        self.started_at = {store.name: 0.0 for store in self.stores}

    def run(self) -> int:
        """Start, watch until nobody uses the stores or a signal came, stop."""
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._on_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            for store in self.stores:
                self._start(store)
            self._await_ready()
            while not self.stopping and not try_lock(self.users):
                self._watch()
                time.sleep(POLL_S)
        except StackError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        finally:
            self._stop()
        return 0

    def _on_signal(self, *_: object) -> None:
        self.stopping = True

    def _start(self, store: Postgres | Valkey) -> None:
        store.start()
        self.started_at[store.name] = time.monotonic()
        self.next_at[store.name] = 0.0

    def _await_ready(self) -> None:
        end = time.monotonic() + START_S
        while not self.stopping and not all(store.is_ready() for store in self.stores):
            for store in self.stores:
                if store.process is not None and store.process.poll() is not None:
                    raise StackError(self._why(store.name))
            if time.monotonic() > end:
                raise StackError(f"the stores were not ready in {START_S:.0f} s; see {self.home.log}")
            time.sleep(0.02)

    def _why(self, name: str) -> str:
        path = self.home.log / f"{name}.log"
        lines = path.read_text(errors="replace").splitlines()
        fatal = [line for line in lines if "FATAL" in line] or lines
        return f"{name} ended: {fatal[-1] if fatal else 'without a word'} (see {path})"

    def _watch(self) -> None:
        """Restart a store that died: at once the first time, later after 2, 4 … 30 s."""
        now = time.monotonic()
        for store in self.stores:
            name = store.name
            if store.process is None or store.process.poll() is None:
                continue
            if not self.next_at[name]:
                steady = now - self.started_at[name] > STEADY_S
                self.crashes[name] = 0 if steady else self.crashes[name] + 1
                delay = min(30.0, 2.0 ** self.crashes[name]) if self.crashes[name] > 1 else 0.0
                self.next_at[name] = now + delay
                sys.stderr.write(f"{name} ended with {store.process.returncode}; restart in {delay:.0f} s\n")
            if now >= self.next_at[name]:
                self._start(store)

    def _stop(self) -> None:
        for store in reversed(self.stores):
            if store.process is not None:
                stop(store.process, store.stop_signals)


def main(argv: list[str] | None = None) -> int:
    """Take the keeper's lock (waiting for it with `--standby`), run, and clean a temporary home away."""
    parser = argparse.ArgumentParser(prog="synth.stack.keeper")
    parser.add_argument("home", type=Path)
    parser.add_argument("--standby", action="store_true")
    parser.add_argument("--losable", action="store_true")
    parser.add_argument("--temporary", action="store_true")
    args = parser.parse_args(argv)
    home = Home(args.home)
    parent = os.getppid()
    try:
        home.make()
    except StackError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    lock = open_lock(home.run / "keeper.lock")
    while not try_lock(lock):
        if not args.standby:
            return BUSY
        if os.getppid() != parent:
            return 0
        time.sleep(POLL_S)
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    home.make()  # again: an earlier keeper may have removed the folder of sockets at its end
    try:
        status = Keeper(home, losable=args.losable).run()
        if args.temporary and status == 0:
            shutil.rmtree(home.path, ignore_errors=True)
        return status
    finally:
        if home.sockets != home.run:
            shutil.rmtree(home.sockets, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
