"""Where a request comes from: for limits, for locked logins, and for the log."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import structlog
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest
from django_structlog.signals import bind_extra_request_metadata

_PORT = re.compile(r"^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$")


def of(request: HttpRequest) -> str | None:
    """The client's address: behind a TLS proxy the one the proxy added last, else the peer's, if it has one.

    What a client says of itself counts for nothing.
    """
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")) if settings.BEHIND_TLS else ""
    return _address(forwarded.rpartition(",")[2]) or _address(str(request.META.get("REMOTE_ADDR", "")))


def _address(text: str) -> str | None:
    """As a database takes it too: no scope of a link, no port (some proxies add it), and IPv4 as itself also
    on a socket for both.
    """
    bare = _PORT.sub(r"\1\2", text.strip()).partition("%")[0]
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        return None
    return str(getattr(found, "ipv4_mapped", None) or found)


@receiver(bind_extra_request_metadata)
def _log_it(request: HttpRequest, **_: Any) -> None:
    structlog.contextvars.bind_contextvars(ip=of(request))
