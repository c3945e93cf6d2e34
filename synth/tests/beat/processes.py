"""Real workers and beats on the test's database and a Redis database of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import redis
from django.db import connection

ROOT = Path(__file__).resolve().parents[3]


def redis_url() -> str:
    """The test's Redis with another database number, so that no other test's messages are taken."""
    number = 8 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    url = urlsplit(os.environ["REDIS_URL"])
    if url.scheme == "unix":
        return f"unix://{url.path}?db={number}"
    return url._replace(path=f"/{number}").geturl()


def env(**extra: str) -> dict[str, str]:
    """The environment of a child."""
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + connection.settings_dict["NAME"])
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {
        "DATABASE_URL": database.geturl(),
        "REDIS_URL": redis_url(),
        "PYTHONPATH": path,
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "debug",
        **extra,
    }


@contextmanager
def celery(*args: str, log: Path, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A `celery -A synth …` process; it is killed when the block ends."""
    with log.open("wb") as out:
        command = [sys.executable, "-m", "celery", "-A", "synth", *args]
        process = subprocess.Popen(command, env=env(**extra), cwd=ROOT, stdout=out, stderr=out)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=30)


@contextmanager
def worker(log: Path, *args: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A thread worker that has the handlers of the outbox tests."""
    options = ("worker", "-Q", "default,llm", "-P", "threads", "-c", "4", "-n", f"{log.stem}@test")
    quiet = ("--without-gossip", "--without-mingle", "-I", "synth.tests.outbox.at_import")
    with celery(*options, *quiet, *args, log=log, **extra) as process:
        yield process


@contextmanager
def beat(log: Path, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A beat with the leader scheduler."""
    with celery("beat", "--pidfile=", log=log, **extra) as process:
        yield process


def python(code: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process with Django set up."""
    command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
    return subprocess.run(
        command, env=env(**extra), cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )


def wait_for(condition: Callable[[], object], seconds: float = 40) -> bool:
    """Whether the condition came to hold in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


def store() -> redis.Redis:
    """A client of the children's Redis."""
    return redis.Redis.from_url(redis_url(), decode_responses=True)
