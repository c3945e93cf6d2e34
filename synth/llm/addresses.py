"""Where a model host lives: base URLs as people type them, and the addresses behind their names."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from urllib.parse import urlsplit

from synth.llm.reasons import LlmError

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
    found: list[str] = []
    trouble: list[OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.extend(dict.fromkeys(str(info[4][0]) for info in infos))
        except (OSError, UnicodeError) as error:
            trouble.append(error)

    # The resolver takes no timeout, so it runs beside us and is left behind when it is late.
    thread = threading.Thread(target=look_up, daemon=True, name="resolve")
    thread.start()
    thread.join(max(timeout_s, 0.0))
    if thread.is_alive():
        raise LlmError("llm_timeout", f"Looking up {host} took too long.")
    if trouble or not found:
        raise LlmError("llm_unreachable", f"{host} has no address.")
    return found


def is_local(address: str) -> bool:
    """True for loopback, private and link-local addresses, also when written as IPv6-mapped IPv4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return ip.is_loopback or ip.is_link_local or (ip.is_private and not ip.is_multicast)


def _looks_local(text: str) -> bool:
    host = text.partition("/")[0]
    name = host.rpartition(":")[0] or host
    try:
        return is_local(name.strip("[]"))
    except ValueError:
        return name == "localhost" or "." not in name or name.endswith((".local", ".internal", ".lan"))
