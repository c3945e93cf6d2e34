"""Bodies sent in chunks, without a length, reach Django's views."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from synth.api.whole_bodies import limit_of

Application = Callable[[Any, Any], Iterable[bytes]]


def with_length(application: Application) -> Application:
    """The same WSGI application, for bodies of unknown length too.

    Django takes a missing Content-Length for an empty body. Such a body is read here, at most one byte past
    the limit, so that a too large one is still seen as such.
    """

    def sized(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        if is_chunked and not environ.get("CONTENT_LENGTH"):
            raw = environ["wsgi.input"].read(limit_of(environ.get("PATH_INFO", "")) + 1)
            environ["wsgi.input"] = BytesIO(raw)
            environ["CONTENT_LENGTH"] = str(len(raw))
        return application(environ, start_response)

    return sized
