"""The address of Redis as Celery writes it. No Django: the settings need it."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_DATABASE = "virtual_host"


def broker_url(redis_url: str) -> str:
    """The same server and numbered database for Celery, which knows no `?db=` and few options besides.

    Options of `REDIS_URL` that mean something to Celery (`ssl_...`) stay; others would stop its start.
    """
    parts = urlsplit(redis_url)
    options = dict(parse_qsl(parts.query))
    number = options.get("db", "")
    kept = {name: value for name, value in options.items() if name.startswith("ssl_")}
    scheme, path = parts.scheme, parts.path
    if scheme == "unix":
        scheme = "redis+socket"
        kept |= {_DATABASE: number} if number else {}
    elif number:
        path = f"/{quote(number, safe='')}"
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{scheme}://{parts.netloc}{path}{query}"
