"""The web process: plain ASGI in front, Django in a thread pool behind.

Django answers, or checks a request and hands it off (`synth.api.handoff`): a stream in a Django view would
hold a thread until it ends. Apps may also put plain ASGI applications before it
(`synth.registries.asgi_routes`).
"""

from __future__ import annotations

from typing import Any

from a2wsgi import WSGIMiddleware

from synth.wsgi import application as django_application  # sets Django up before the registries are read

from django.conf import settings  # isort: skip
from synth import registries  # isort: skip
from synth.api import answers, openai_answers  # noqa: F401 - serve the orders of chat  # isort: skip
from synth.api.handoff import with_handoff  # isort: skip
from synth.api.whole_bodies import with_whole_bodies  # isort: skip

_django: Any = with_handoff(
    with_whole_bodies(WSGIMiddleware(django_application, workers=settings.WEB_THREADS))
)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve one connection: lifespan, a registered path, or Django."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "http":
        route = registries.asgi_routes.match(scope["path"])
        await (route or _django)(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": 1000})


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
