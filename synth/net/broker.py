"""The address of Redis as Celery writes it. No Django: the settings need it."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_DATABASE = "virtual_host"


def broker_url(redis_url: str) -> str:
    """The same server, login and numbered database for Celery, which knows them not as options.

    Options of `REDIS_URL` that mean something to Celery (`ssl_...`) stay; others would stop its start.
    Without `ssl_cert_reqs` our own clients verify a server's certificate, and Celery would not.
    """
    parts = urlsplit(redis_url)
    options = dict(parse_qsl(parts.query))
    number = options.get("db", "")
    kept = {name: value for name, value in options.items() if name.startswith("ssl_")}
    scheme, path = parts.scheme, parts.path
    if scheme == "rediss":
        kept.setdefault("ssl_cert_reqs", "required")
    if scheme == "unix":
        scheme = "redis+socket"
        kept |= {_DATABASE: number} if number else {}
    elif number:
        path = f"/{quote(number, safe='')}"
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{scheme}://{_login(parts.netloc, options)}{path}{query}"


def _login(netloc: str, options: dict[str, str]) -> str:
    """The server with a name and password before it; those that stand there already count first."""
    login, _, server = netloc.rpartition("@")
    name, _, password = login.partition(":")
    name = name or quote(options.get("username", ""), safe="")
    password = password or quote(options.get("password", ""), safe="")
    return f"{name}:{password}@{server}" if name or password else server
