"""Whether a turn keeps the very server busy that a judgment would ask."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.timezone import now

from judgments.backends import HostConfig
from synth import selectors
from synth.net import addresses


def is_busy(host: HostConfig) -> bool:
    """True while an agent answers and its model runs on the same local server. Remote hosts: never."""
    llm = (settings.LLM_BASE_URL or "").strip()
    if host.backend == "local":
        is_same = llm == "local"
    else:
        place = _local_place(host.base_url) if host.backend == "http" else None
        is_same = place is not None and place == _local_place(llm)
    return is_same and selectors.is_any_turn_running(now())


def _local_place(address: str) -> tuple[str, int] | None:
    """Host and port of a server on this machine or network; None for others and for what is no address."""
    try:
        url = urlsplit(address if "://" in address else f"http://{address}")
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        return None
    if host == "localhost":
        host = "127.0.0.1"
    return (host, port) if host and addresses.looks_local(host) else None
