"""System checks: what an operator should know before Synth runs. Ids are stable; hints say what to do.

`manage.py check` asks the settings only; `check --database default` and `migrate` also ask the stores.
"""

from __future__ import annotations

import ipaddress
import os
import sys
import zoneinfo
from typing import Any
from urllib.parse import urlsplit

import redis as redis_client
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import Error as DatabaseTrouble
from django.db import connection

from synth import faults, liveness
from synth.llm.addresses import base_url
from synth.net import addresses

OLDEST_POSTGRESQL = 150000
SHORTEST_KEY_CHARS = 32


@register(Tags.database)
def postgresql(databases: Any = None, **_: Any) -> list[CheckMessage]:
    """PostgreSQL is new enough and has trigram search."""
    if not databases:
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            version = int(cursor.fetchone()[0])
            cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
            has_trigrams = cursor.fetchone() is not None
    except DatabaseTrouble as error:
        return [Error(f"PostgreSQL does not answer: {error}", id="synth.E001")]
    found: list[CheckMessage] = []
    if version < OLDEST_POSTGRESQL:
        hint = "Use 15 or newer."
        found.append(Error(f"PostgreSQL {version // 10000} is too old.", hint=hint, id="synth.E002"))
    if not has_trigrams:
        hint = "Install PostgreSQL's contrib package."
        found.append(Error("The extension pg_trgm is not available.", hint=hint, id="synth.E003"))
    return found


@register(Tags.database)
def redis(databases: Any = None, **_: Any) -> list[CheckMessage]:
    """Redis answers and throws nothing away when it is full."""
    if not databases:
        return []
    try:
        policy = liveness.client().config_get("maxmemory-policy").get("maxmemory-policy")
    except redis_client.ResponseError:
        return []  # hosted servers often forbid CONFIG
    except redis_client.RedisError as error:
        return [Warning(f"Redis does not answer: {error}", id="synth.W001")]
    if policy in ("noeviction", None):
        return []
    hint = "Set maxmemory-policy to noeviction: other policies drop queued messages."
    return [Warning(f"Redis evicts keys when full ({policy}).", hint=hint, id="synth.W002")]


@register(Tags.security, deploy=True)
def secret_key(**_: Any) -> list[CheckMessage]:
    """SECRET_KEY cannot be guessed."""
    key = settings.SECRET_KEY
    if len(key) >= SHORTEST_KEY_CHARS and len(set(key)) >= 8:
        return []
    hint = f"Use at least {SHORTEST_KEY_CHARS} random characters."
    return [Error("SECRET_KEY is too easy to guess.", hint=hint, id="synth.E004")]


@register(Tags.security)
def debug(**_: Any) -> list[CheckMessage]:
    """Debug pages show settings and code, so only this machine may see them."""
    if not settings.DEBUG or _is_loopback(settings.BIND):
        return []
    hint = "Unset DEBUG, or bind 127.0.0.1."
    return [Error(f"DEBUG is on while BIND={settings.BIND}.", hint=hint, id="synth.E005")]


@register()
def language_model_host(**_: Any) -> list[CheckMessage]:
    """LLM_BASE_URL can be read as an address, and keys do not travel in the open; `local` has its model."""
    typed = settings.LLM_BASE_URL
    if not typed:
        return []
    if typed.strip() == "local":
        hint = "A folder or a .gguf file; see docs/models.md."
        text = "LLM_BASE_URL is local and LLM_LOCAL_MODEL is unset."
        return [] if settings.LLM_LOCAL_MODEL else [Warning(text, hint=hint, id="synth.W006")]
    try:
        url = urlsplit(base_url(typed))
    except ValueError:
        hint = "For example https://host.example/v1"
        return [Error("LLM_BASE_URL is no http or https address.", hint=hint, id="synth.E006")]
    found: list[CheckMessage] = []
    if "@" in typed.partition("://")[2].partition("/")[0]:
        found.append(Warning("LLM_BASE_URL holds a login.", hint="Use LLM_API_KEY.", id="synth.W003"))
    if url.scheme == "http" and settings.LLM_API_KEY and not addresses.looks_local(url.hostname or ""):
        found.append(Warning("LLM_API_KEY would travel unencrypted.", hint="Use https.", id="synth.W004"))
    return found


@register()
def fault_point(**_: Any) -> list[CheckMessage]:
    """A test's kill switch names a point that exists."""
    wanted = os.environ.get(faults.VARIABLE)
    if not wanted:
        return []
    try:
        faults.check(wanted)
    except faults.UnknownFault as error:
        return [Error(str(error), id="synth.E007")]
    hint = "Unset it unless you are testing."
    return [Warning(f"{faults.VARIABLE} will kill this process at {wanted}.", hint=hint, id="synth.W005")]


@register()
def time_zones(**_: Any) -> list[CheckMessage]:
    """The time zone database is there; weekly times need it."""
    if {"Europe/Rome", "Asia/Tokyo", "America/New_York"} <= zoneinfo.available_timezones():
        return []
    return [Error("No time zone database.", hint="Install the package tzdata.", id="synth.E008")]


@register()
def light_start(**_: Any) -> list[CheckMessage]:
    """No app pulls torch in at start: it costs the web process hundreds of megabytes."""
    found = sorted({"torch", "transformers"} & set(sys.modules))
    if not found:
        return []
    hint = "Import it in an ml module, inside the function that needs it."
    return [Error(f"{' and '.join(found)} was imported at start.", hint=hint, id="synth.E009")]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
