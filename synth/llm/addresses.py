"""Where a model host lives: base URLs as people type them, and the addresses behind their names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from synth.llm.reasons import LlmError
from synth.net import addresses as net
from synth.net.addresses import is_local

__all__ = ["base_url", "host_label", "is_local", "resolve"]

_ENDPOINT = re.compile(r"/(?:chat/)?completions/*$|/models/*$")


def base_url(typed: str) -> str:
    """`http(s)://host[:port]/path` for the SDK, or ValueError.

    A missing scheme, a missing `/v1`, a doubled one, trailing slashes and a pasted endpoint path are put
    right; user names, queries and fragments are dropped.
    """
    text = typed.strip().strip("\"'")
    if "://" not in text:
        text = f"{'http' if _looks_local(text) else 'https'}://{text}"
    url = urlsplit(text)
    if url.scheme.lower() not in ("http", "https") or not url.hostname:
        raise ValueError("LLM_BASE_URL must be an http or https address")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    port = f":{url.port}" if url.port else ""
    path = _ENDPOINT.sub("", re.sub(r"//+", "/", url.path).rstrip("/"))
    path = re.sub(r"(?:/v1)+$", "/v1", path) or "/v1"
    return f"{url.scheme.lower()}://{host}{port}{path}"


def host_label(url: str) -> str:
    """`host:port` of a base URL, for records and logs."""
    return urlsplit(url).netloc[:200]


def resolve(host: str, port: int, timeout_s: float) -> list[str]:
    """The addresses of a name, looked up once. LlmError `llm_unreachable` or `llm_timeout`."""
    try:
        return net.resolve(host, port, timeout_s)
    except TimeoutError as error:
        raise LlmError("llm_timeout", str(error)) from None
    except OSError as error:
        raise LlmError("llm_unreachable", str(error)) from None


def _looks_local(text: str) -> bool:
    host = text.partition("/")[0]
    return net.looks_local(host.rpartition(":")[0] or host)
