"""Asks a System One host over HTTP, in either dialect: one try, one deadline, no redirects.

The host's name is looked up once and only what was found is connected to. Whatever comes back is bounded: the
body before and after decoding, the time it may drip. Anything but a JSON object is a Failure with one word.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.utils.timezone import now

from judgments import strict_json
from judgments.answers import BadAnswer
from judgments.backends import decisions, errors
from judgments.backends.types import Failure, HostConfig, Raw
from judgments.questions import Ask
from synth.net import addresses
from synth.net.transport import pinned_client

MAX_BODY_BYTES = 4 * 1024 * 1024
_PATHS = {"systemone": "/v1/systemone", "openai-decisions": "/v1/decisions"}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_REQUEST_IDS = ("x-typesafe-request-id", "x-request-id")


def send(host: HostConfig, ask: Ask, deadline: float) -> Raw:
    """One round trip. Failure for everything that is no JSON object with status 200."""
    url = endpoint(host)
    headers = _headers(host)
    body = _body(host, ask)
    found = _addresses(host, url, deadline)
    try:
        with (
            pinned_client(found, deadline) as client,
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            content = _content(answer)
    except httpx.TimeoutException:
        raise Failure("timeout", "The host did not answer in time.") from None
    except httpx.HTTPError as error:
        raise _transport_failure(error, deadline) from None
    except (httpx.InvalidURL, ValueError):
        # The text of such an exception may quote a header.
        raise Failure("refused", "The request could not be made.") from None
    return _read(host, ask, answer, content)


def endpoint(host: HostConfig) -> str:
    """The URL asks go to. Failure `refused` for a base URL that is none.

    A base URL that already ends in the endpoint, or in `/v1`, is not given it twice.
    """
    try:
        url = urlsplit(host.base_url.strip())
        port = url.port
    except ValueError:
        raise Failure("refused", "The host's address is not valid.") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise Failure("refused", "The host's address must begin with http:// or https://.")
    name = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    base = url.path.rstrip("/")
    path = host.path and f"/{host.path.lstrip('/')}"
    if not path:
        path = _PATHS.get(host.dialect, _PATHS["systemone"])
        if base.endswith(path.removeprefix("/v1")):
            path = ""
        elif base.endswith("/v1"):
            path = path.removeprefix("/v1")
    return f"{url.scheme}://{name}{f':{port}' if port else ''}{base}{path}"


def _body(host: HostConfig, ask: Ask) -> bytes:
    body: dict[str, Any] = {**ask.as_wire(), "model": host.model}
    if host.dialect == "openai-decisions":
        body = decisions.request_body(ask, host.model)
    return strict_json.dump_bytes(body)


def _headers(host: HostConfig) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "synth",
    }
    if host.key:
        value = f"{host.auth_scheme} {host.key}".strip()
        if not (value.isascii() and value.isprintable() and _HEADER_NAME.fullmatch(host.auth_header)):
            # Said here, because an exception about a bad header would quote the key.
            raise Failure("refused", "The key or its header has characters that no header can carry.")
        headers[host.auth_header] = value
    return headers


def _addresses(host: HostConfig, url: str, deadline: float) -> list[str]:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = addresses.resolve(parts.hostname or "", port, deadline - time.monotonic())
    except TimeoutError:
        raise Failure("timeout", "Looking up the host took too long.") from None
    except OSError:
        raise Failure("unreachable", "The host has no address.") from None
    if host.local_only and not all(map(addresses.is_local, found)):
        raise Failure("refused", "local_only: the host is not on this network; nothing was sent.")
    return found


def _content(answer: httpx.Response) -> bytes:
    """The body, decoded, within the limits; nothing of it is read for a redirect."""
    if 300 <= answer.status_code < 400:
        return b""
    coding = answer.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise Failure("bad_answer", "The body has an encoding that was not asked for.")
    unpack = None if coding in ("identity", "") else zlib.decompressobj(_GZIP_OR_ZLIB)
    content = bytearray()
    for chunk in answer.iter_raw():
        try:
            # Bounded at each step: a few bytes may stand for gigabytes.
            content += unpack.decompress(chunk, MAX_BODY_BYTES + 1 - len(content)) if unpack else chunk
        except zlib.error:
            raise Failure("bad_answer", "The body is not what its encoding says.") from None
        if len(content) > MAX_BODY_BYTES:
            raise Failure("bad_answer", f"The body is larger than {MAX_BODY_BYTES} bytes.")
    if unpack is not None and not unpack.eof:
        raise Failure("bad_answer", "The body is cut.")
    return bytes(content)


def _read(host: HostConfig, ask: Ask, answer: httpx.Response, content: bytes) -> Raw:
    status = answer.status_code
    if 300 <= status < 400:
        raise Failure("bad_answer", f"The host redirects ({status}).", status=status)
    if status >= 400:
        raise errors.from_status(status, answer.headers, content, key=host.key, at=now())
    try:
        body = strict_json.loads(content)
        if host.dialect == "openai-decisions":
            body = decisions.as_systemone(ask, body)
    except strict_json.BadJson as error:
        text = "The body is empty." if not content else f"The body is not JSON: {error.message}"
        raise Failure("bad_answer", text, status=status) from None
    except BadAnswer as error:
        raise Failure(error.word, errors.cleaned(error.text, host.key), status=status) from None
    if not isinstance(body, Mapping):
        raise Failure("bad_answer", "The reply is not an object", status=status)
    request_id = next((answer.headers[name] for name in _REQUEST_IDS if name in answer.headers), "")
    return Raw(body, errors.cleaned(request_id, host.key))


def _transport_failure(error: httpx.HTTPError, deadline: float) -> Failure:
    """What broke, by its kind: the text of an exception might quote a header."""
    if time.monotonic() >= deadline:
        return Failure("timeout", "The host did not answer in time.")
    if isinstance(error, httpx.RemoteProtocolError):
        if "without sending a response" in str(error):
            return Failure("unreachable", "The host closed the connection without an answer.")
        if "complete message body" in str(error):
            return Failure("bad_answer", "The body is cut.")
        return Failure("bad_answer", "The answer is not HTTP.")
    if isinstance(error, httpx.ReadError) and "too large" in str(error):
        return Failure("bad_answer", "The answer is too large.")
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ProtocolError):
        kind = "reached" if isinstance(error, httpx.ConnectError) else "kept"
        return Failure("unreachable", f"No connection could be {kind}.")
    return Failure("refused", "The request could not be made.")
