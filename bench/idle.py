"""Memory and start time of the whole stack with nothing to do: `manage.py up` on a new home, then again.

`python -m bench.idle`. Memory is the proportional set size (shared pages counted once) of every process of
the stack, after `SETTLE_S` seconds of idling. Linux only.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path

READY_S = 120.0
SETTLE_S = 15.0


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def is_ready(port: int) -> bool:
    """Whether `/healthz` answers 200."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def processes(home: str, root: int) -> dict[int, str]:
    """Pid and command line of each process of the stack: `up`, those that name the home, their children."""
    lines: dict[int, str] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            pid, parent = int(entry.name), int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            lines[pid] = (
                (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            )
        except OSError:
            continue
        children[parent].append(pid)
    found: dict[int, str] = {}
    todo = [root, *(pid for pid, line in lines.items() if home in line)]
    while todo:
        pid = todo.pop()
        if pid in lines and pid not in found:
            found[pid] = lines[pid]
            todo += children[pid]
    return found


def pss_mib(pid: int) -> float:
    """Proportional set size of a process in MiB; 0 when it has gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        return 0.0
    return 0.0


def label(line: str) -> str:
    """What a process is, from its command line."""
    for word in ("uvicorn", "beat", "worker", "keeper", "valkey", "postgres", "manage.py up"):
        if word in line:
            return word
    return line[:30] or "other"


def once(home: str, title: str) -> None:
    """Start, wait until ready, idle, print, stop."""
    port, start = free_port(), time.monotonic()
    env = {**os.environ, "SYNTH_HOME": home, "PORT": str(port)}
    env = {
        key: value for key, value in env.items() if key not in ("DATABASE_URL", "REDIS_URL", "SYNTH_EMBEDDED")
    }
    with open(os.path.join(home, "..", Path(home).name + ".log"), "ab") as log:
        stack = subprocess.Popen([sys.executable, "manage.py", "up"], env=env, stdout=log, stderr=log)
    try:
        while not is_ready(port):
            if stack.poll() is not None or time.monotonic() - start > READY_S:
                raise SystemExit(f"the stack did not become ready; see {log.name}")
            time.sleep(0.1)
        ready_s = time.monotonic() - start
        time.sleep(SETTLE_S)
        sizes: dict[str, float] = defaultdict(float)
        for pid, line in processes(home, stack.pid).items():
            sizes[label(line)] += pss_mib(pid)
        parts = ", ".join(
            f"{name} {size:.0f}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])
        )
        print(f"{title}: ready in {ready_s:.1f} s, idle {sum(sizes.values()):.0f} MiB ({parts})", flush=True)
    finally:
        stack.send_signal(signal.SIGINT)
        stack.wait(60)


def main() -> None:
    """A first and a second start."""
    home = tempfile.mkdtemp(prefix="synth-idle-")
    try:
        once(home, "first start")
        once(home, "second start")
    finally:
        shutil.rmtree(home, ignore_errors=True)
        Path(home + ".log").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
