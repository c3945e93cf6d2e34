"""The guard process: when the supervisor is killed, it ends the sessions that the supervisor had started.

Run by path (`python -I -S guard.py`), standard library only. Standard input: a line `+PID` or `-PID` for each
session begun or ended, `bye` for an orderly end. End of input without `bye` means the supervisor was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time

GRACE_S = 3.0


def members(sessions: set[int]) -> list[int]:
    """Pids of living processes that belong to one of the sessions (Linux), else the leaders themselves."""
    if not os.path.isdir("/proc/self"):
        return [pid for pid in sessions if _lives(pid)]
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) in sessions:
            found.append(int(entry))
    return found


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _send(pids: list[int], sig: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, sig)
        except OSError:
            continue


def main() -> None:
    """Follow the supervisor's notes; on a sudden end send SIGTERM, wait, then SIGKILL to what is left."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    sessions: set[int] = set()
    for line in sys.stdin:
        note = line.strip()
        if note == "bye":
            return
        (sessions.add if note.startswith("+") else sessions.discard)(int(note[1:]))
    _send(members(sessions), signal.SIGTERM)
    end = time.monotonic() + GRACE_S
    while members(sessions) and time.monotonic() < end:
        time.sleep(0.1)
    while left := members(sessions):
        _send(left, signal.SIGKILL)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
