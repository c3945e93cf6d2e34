"""Starts real worker processes with the stub for tests, and asks them from threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synth.inference import queue, wire

ROOT = Path(__file__).resolve().parents[3]


def start_worker() -> subprocess.Popen[bytes]:
    """A worker process with the stub; it may still be starting."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "inference_worker", "--stub"],
        cwd=ROOT,
        env=os.environ | {"LOG_LEVEL": "error"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_served(seconds: float = 40) -> float:
    """Wait until a worker signs; the seconds it took."""
    started = time.monotonic()
    while not queue.is_served():
        assert time.monotonic() - started < seconds, "no worker came up"
        time.sleep(0.05)
    return time.monotonic() - started


def clear() -> None:
    """Forget all asks and signs of life."""
    keys = [wire.ALIVE_KEY, *(wire.queue_key(name) for name in wire.PRIORITIES)]
    queue.client().delete(*keys)


@contextmanager
def a_worker() -> Iterator[subprocess.Popen[bytes]]:
    """A worker that serves inside the block."""
    clear()
    process = start_worker()
    try:
        wait_served()
        yield process
    finally:
        end(process)
        clear()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker that a test started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=20)


def outcome(payload: dict[str, Any], seconds: float = 5.0, **how: Any) -> str:
    """`answered`, or the name of the exception."""
    try:
        queue.ask("stub", payload, deadline=time.time() + seconds, **how)
    except queue.NoAnswer as error:
        return type(error).__name__
    return "answered"


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls give, each from a thread of its own."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(call) for call in calls]]
