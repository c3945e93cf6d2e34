"""Request limits per key and per address in windows of a minute; without Redis nothing is limited."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import redis
import structlog
from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from synth.models import ApiKey
from synth.net import client_address, clients

if TYPE_CHECKING:
    # At run time this would be a circle: rest_framework.views reads the settings that name this module.
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)
WINDOW_S = 60
TIMEOUT_S = 2.0
# After a failure Redis is left alone this long, so that a dead host does not cost its timeout a request.
PAUSE_S = 10.0
_pause = {"until": 0.0}


def _client(url: str) -> redis.Redis:
    # Django's cache would open a connection of its own for each request.
    return redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)


def count(name: str, limit: int) -> int:
    """Count one request of `name`; 0 when it is within `limit` (0: no limit), else seconds to wait."""
    clock = time.time()
    if limit <= 0 or time.monotonic() < _pause["until"]:
        return 0
    window, passed_s = divmod(clock, WINDOW_S)
    slot = f"rate:{name}:{int(window)}"
    try:
        with clients.shared("throttles", _client).pipeline(transaction=False) as pipe:
            pipe.incr(slot)
            pipe.expire(slot, 2 * WINDOW_S)
            n_requests, _ = pipe.execute()
    except (redis.RedisError, OSError) as error:
        _pause["until"] = time.monotonic() + PAUSE_S
        log.warning("throttle_without_redis", error=str(error))
        return 0
    return 0 if n_requests <= limit else max(1, int(WINDOW_S - passed_s) + 1)


def count_address(request: Request) -> int:
    """Count one unauthenticated request of this address; seconds to wait when it is one too many."""
    return count(f"address:{client_address.of(request)}", settings.RATE_PER_ADDRESS)


def count_person(person: Any) -> int:
    """Count one request of a person's browser, pages and API together; seconds to wait when too many."""
    return count(f"person:{person.pk}", settings.RATE_PER_KEY)


class _Counting(BaseThrottle):
    """Remembers how long to wait."""

    wait_s = 0

    def wait(self) -> float | None:
        return float(self.wait_s)


class PerKey(_Counting):
    """`RATE_PER_KEY` requests a minute for one key, or for one person in a browser session."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated:
            return True
        auth: Any = request.auth
        if isinstance(auth, ApiKey):
            self.wait_s = count(f"key:{auth.pk}", settings.RATE_PER_KEY)
        else:
            self.wait_s = count_person(request.user)
        return self.wait_s == 0


class PerAddress(_Counting):
    """`RATE_PER_ADDRESS` unauthenticated requests a minute from one address."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        if request.user.is_authenticated:
            return True
        self.wait_s = count_address(request)
        return self.wait_s == 0
