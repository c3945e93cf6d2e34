"""Whether Synth is up, for people, load balancers and Prometheus: /healthz, /readyz, /metrics.

No login, no session, no throttle, never cached, answered within about 2 s even when a store hangs. Whoever
asks may call this server by any host name: load balancers and scrapers use addresses that ALLOWED_HOSTS does
not list.

* `/healthz`: 200 `{"status": "ok", "roles": {…}}` when the whole installation works: stores, migrations,
web, worker, beat. Else 503 with `status` `starting` (the first minute, or migrations missing) or
`degraded`, and `causes`.
* `/readyz`: 200 when this web process can serve (stores, migrations); `causes` also name what else is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import re_path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from synth import probes

STARTING_S = 60.0
OLD_ROW_S = 300.0
_started = time.monotonic()


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong. `code` is stable, `detail` is for people."""

    code: str
    detail: str


def store_causes() -> list[Cause]:
    """What keeps this web process from serving at all."""
    causes = []
    database, redis = probes.database.answer(), probes.redis.answer()
    if database.error:
        causes.append(Cause("database_down", f"PostgreSQL: {database.error}"))
    elif database.value:
        names = ", ".join(database.value[:5])
        causes.append(Cause("migrations_missing", f"{len(database.value)} not applied: {names}"))
    if redis.error:
        causes.append(Cause("redis_down", f"Redis: {redis.error}"))
    return causes


def role_causes() -> list[Cause]:
    """Roles that must run somewhere and do not. A torch worker is optional."""
    alive = probes.redis.answer().value
    if alive is None:
        return []
    return [
        Cause(f"{role}_down", f"No {role} process has signed in the last 20 s.")
        for role in ("worker", "beat")
        if not alive[role]
    ]


def backlog_causes() -> list[Cause]:
    """Work that waits too long, silent ticks, parked events."""
    answer = probes.backlog.answer()
    if answer.value is None:
        return [Cause("backlog_unknown", answer.error)]
    causes = [
        Cause("rows_waiting", f"{depth.name}: {depth.n_due} due, the oldest for {depth.oldest_s:.0f} s")
        for depth in answer.value.depths
        if depth.oldest_s > OLD_ROW_S
    ]
    for tick in answer.value.ticks:
        age_s = time.monotonic() - _started if tick.started_age_s is None else tick.started_age_s
        if not tick.is_enabled:
            causes.append(Cause("tick_off", f"{tick.name} is switched off"))
        elif age_s > 3 * tick.every_s + 60:
            causes.append(Cause("tick_silent", f"{tick.name} last ran {age_s:.0f} s ago"))
        elif tick.error:
            causes.append(Cause("tick_failed", f"{tick.name}: {tick.error}"))
    if answer.value.n_parked:
        causes.append(Cause("events_parked", f"{answer.value.n_parked} events wait for an operator"))
    return causes


def _view(inner: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    return never_cache(require_safe(inner))


def _answer(is_well: bool, status: str, causes: list[Cause], **more: Any) -> JsonResponse:
    body = {"status": status, **more, "causes": [asdict(cause) for cause in causes]}
    return JsonResponse(body, status=200 if is_well else 503)


@_view
def healthz(request: HttpRequest) -> HttpResponse:
    """The whole installation."""
    causes = store_causes()
    causes += role_causes()
    alive = probes.redis.answer().value or {}
    roles = {"web": 1, **{role: len(names) for role, names in alive.items()}}
    if not causes:
        return _answer(True, "ok", [], roles=roles)
    is_young = time.monotonic() - _started < STARTING_S
    is_starting = is_young or any(cause.code == "migrations_missing" for cause in causes)
    return _answer(False, "starting" if is_starting else "degraded", causes, roles=roles)


@_view
def readyz(request: HttpRequest) -> HttpResponse:
    """This web process, and everything known to be wrong."""
    blocking = store_causes()
    if blocking:
        return _answer(False, "not_ready", blocking)
    return _answer(True, "ready", role_causes() + backlog_causes())


@_view
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text: requests of this process, and the rows of the installation."""
    response: HttpResponse = ExportToDjangoView(request)
    return response


VIEWS = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
urlpatterns = [re_path(f"^{name[1:]}/?$", view) for name, view in VIEWS.items()]


class Probes:
    """Middleware, the first: answers these pages before anything looks at the host name or the scheme."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = VIEWS.get(request.path_info.removesuffix("/"))
        return view(request) if view else self.get_response(request)
