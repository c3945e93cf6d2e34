"""Which processes of which role are alive: each keeps a key in Redis that runs out 20 s after its last sign.

A process is named `host:pid`. The set `synth:alive:<role>` remembers names, so that nobody scans all keys.
"""

from __future__ import annotations

import os
import socket
import threading

import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from synth.net import clients

LEASE_S = 20
EVERY_S = 5.0
ROLES = ("worker", "torch", "beat")
# A store that hangs must not hang its callers: health answers within 2 s.
TIMEOUT_S = 1.0
log = structlog.get_logger(__name__)


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S / 2,
        retry=Retry(NoBackoff(), 1),
    )


def client() -> redis.Redis:
    """A Redis client for short calls, shared by the threads of this process; calls end within about 2 s."""
    return clients.shared("liveness", _client)


def here() -> str:
    """Host name of this process; a container's is its id."""
    return socket.gethostname()


def key_of(role: str, name: str) -> str:
    """The key that lives while the process does."""
    return f"synth:alive:{role}:{name}"


def sign(role: str, note: str = "") -> None:
    """Say that this process is alive as `role`; health shows `note`. Errors of redis pass through."""
    name = f"{here()}:{os.getpid()}"
    with client().pipeline(transaction=False) as pipe:
        pipe.set(key_of(role, name), note or "up", ex=LEASE_S)
        pipe.sadd(f"synth:alive:{role}", name)
        pipe.execute()


def leave(role: str) -> None:
    """Say that this process stops being `role`; without Redis its key runs out by itself."""
    name = f"{here()}:{os.getpid()}"
    try:
        with client().pipeline(transaction=False) as pipe:
            pipe.delete(key_of(role, name))
            pipe.srem(f"synth:alive:{role}", name)
            pipe.execute()
    except redis.RedisError as error:
        log.warning("leave_not_signed", role=role, error=str(error))


def alive(role: str, *, host: str | None = None) -> dict[str, str]:
    """Names and notes of living processes of a role, on one host or all. Names that ran out are forgotten."""
    names = sorted(map(str, client().smembers(f"synth:alive:{role}")))
    notes = client().mget([key_of(role, name) for name in names]) if names else []
    found = {name: str(note) for name, note in zip(names, notes, strict=True) if note is not None}
    if gone := [name for name in names if name not in found]:
        client().srem(f"synth:alive:{role}", *gone)
    return {name: note for name, note in found.items() if host is None or name.rpartition(":")[0] == host}


class Heartbeat:
    """Signs for a role every 5 s from a thread of its own until `stop()`."""

    def __init__(self, role: str, every_s: float = EVERY_S) -> None:
        self.role = role
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"alive-{role}", daemon=True)

    def start(self) -> None:
        """Sign at once, then go on in the background."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and take the sign down."""
        self._stop.set()
        self._thread.join(timeout=5)
        leave(self.role)

    def _run(self) -> None:
        while True:
            try:
                sign(self.role)
            except redis.RedisError as error:
                log.warning("alive_not_signed", role=self.role, error=str(error))
            if self._stop.wait(self._every_s):
                return
