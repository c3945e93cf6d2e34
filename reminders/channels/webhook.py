"""A webhook: the delivery is POSTed as signed JSON to an address; any 2xx confirms it.

Body: `{id, kind, title, body, metadata, at}`. Headers: `X-Synth-Delivery` (the id, the same at every try),
`X-Synth-Timestamp` (Unix seconds), `X-Synth-Signature: sha256=` and the hex HMAC of `timestamp + "." + body`
under the key that `manage.py webhook_key URL` shows. Redirects are not followed and the answer's body is not
read. The name is looked up once and only those addresses are connected to.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import time
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from reminders.channels.base import Parcel, Remote, Undelivered
from reminders.options import may_be_private
from reminders.paths import FIELD, Path
from synth.errors import Invalid
from synth.net import addresses

PORTS = {"http": 80, "https": 443}
# Answers that rarely change by asking again; every other failure gets all tries.
MAX_TRIES = {400: 4, 401: 4, 403: 4, 404: 3, 405: 4, 410: 1, 413: 4, 422: 4}
MAX_RETRY_AFTER_S = 4 * 3600.0
LABEL = b"synth.webhook:"


def check(path: Path) -> None:
    """Invalid for plain http and for addresses of a private network, unless the operator allows the host."""
    if problem := _problem_of(urlsplit(path.target)):
        raise Invalid(problem, field=FIELD, code="webhook_refused")


def host(path: Path) -> str:
    """`host:port`, lower case."""
    url = urlsplit(path.target)
    name = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    return f"{name}:{url.port or PORTS[url.scheme.lower()]}"[:300]


def key_of(url: str) -> str:
    """The key that signs what goes to this origin and path; hex, made from FIELD_KEY, stored nowhere."""
    parts = urlsplit(url)
    name = f"{parts.scheme.lower()}://{host(Path('webhook', url))}{parts.path or '/'}"
    return hmac.new(settings.FIELD_KEY.encode(), LABEL + name.encode(), hashlib.sha256).hexdigest()


def sign(key: str, timestamp: str, body: bytes) -> str:
    """The value of X-Synth-Signature."""
    return "sha256=" + hmac.new(key.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def body_of(parcel: Parcel) -> bytes:
    """The JSON that is sent; the same bytes at every try."""
    names = ("id", "kind", "title", "body", "metadata")
    shown = {**{name: getattr(parcel, name) for name in names}, "at": parcel.at.isoformat()}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def carry(parcel: Parcel, timeout_s: float) -> str:
    """POST once, in at most `timeout_s`; `HTTP 204` for example when it was confirmed, else Undelivered."""
    deadline = time.monotonic() + timeout_s
    url = parcel.path.target
    status, retry_after = _post(parcel, url, _addresses(urlsplit(url), timeout_s), deadline)
    if 200 <= status < 300:
        return f"HTTP {status}"
    detail = f"HTTP {status}, a redirect, is not followed" if 300 <= status < 400 else f"HTTP {status}"
    raise Undelivered(
        detail,
        max_tries=MAX_TRIES.get(status, 4 if 300 <= status < 400 else None),
        retry_after_s=retry_after,
        is_hosts_fault=status >= 500 or status == 429,
    )


def _problem_of(url: SplitResult) -> str:
    """Why this address may not be called as it is written; blank when it may."""
    if may_be_private(host(Path("webhook", url.geturl()))):
        return ""
    if url.scheme.lower() != "https":
        return "A webhook needs https."
    name = (url.hostname or "").rstrip(".")
    try:
        is_private = not addresses.is_public(str(ipaddress.ip_address(name)))
    except ValueError:
        is_private = name == "localhost" or name.endswith((".localhost", ".local", ".internal"))
    return "A webhook may not live on this machine or a private network." if is_private else ""


def _addresses(url: SplitResult, timeout_s: float) -> list[str]:
    """Where to connect. The rules are asked again: a name may lead elsewhere by now."""
    if problem := _problem_of(url):
        raise Undelivered(problem, max_tries=1)
    label = host(Path("webhook", url.geturl()))
    try:
        found = addresses.resolve(url.hostname or "", url.port or PORTS[url.scheme.lower()], timeout_s)
    except OSError as error:
        raise Undelivered(f"no address ({type(error).__name__})", is_hosts_fault=True) from None
    if not may_be_private(label) and not all(map(addresses.is_public, found)):
        raise Undelivered("the name leads to a private network", max_tries=1)
    return found


def _post(parcel: Parcel, url: str, found: list[str], deadline: float) -> tuple[int, float]:
    """Status and seconds of Retry-After."""
    import httpx

    from synth.net.transport import pinned_client

    body, timestamp = body_of(parcel), str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Synth",
        "X-Synth-Delivery": str(parcel.id),
        "X-Synth-Timestamp": timestamp,
        "X-Synth-Signature": sign(key_of(url), timestamp, body),
    }
    try:
        # Streamed and left: what a peer says beyond its status is neither read nor kept.
        with (
            pinned_client(found, deadline) as http,
            http.stream("POST", url, content=body, headers=headers) as answer,
        ):
            return answer.status_code, _seconds(answer.headers.get("Retry-After", ""))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # The kind of trouble, never its text, which may quote the address.
        raise Undelivered(f"no answer ({type(error).__name__})", is_hosts_fault=True) from None


def _seconds(text: str) -> float:
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return min(float(text), MAX_RETRY_AFTER_S) if is_number else 0.0


CHANNEL = Remote("webhook", check, carry, host)
