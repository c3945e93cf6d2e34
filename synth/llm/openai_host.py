"""One round trip to an OpenAI-compatible host through the official SDK: whole, or with its words at once.

The SDK makes the connection and the request; bodies are read by our own tolerant reader. No retries, no
redirects, one deadline, and only the addresses looked up before.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.timezone import now

from synth.llm.completion import Completion, StreamReader, error_of_status, read_body
from synth.llm.messages import Request
from synth.llm.reasons import LlmError
from synth.llm.sink import Sink

if TYPE_CHECKING:
    import httpx
    import openai

    from synth.llm.hosts import Host
    from synth.net.transport import HangUp

AFTER_END_S = 5.0  # a host that has given its finish reason is waited for this much longer
# How a host wants to be asked: a stream with token counts, a stream, one body.
LADDER = ("usage", "bare", "plain")
REMEMBERED_S = 600.0
_refused: dict[tuple[str, str], tuple[str, float]] = {}


def ask(host: Host, request: Request, found: Sequence[str], deadline: float, sink: Sink | None) -> Completion:
    """One completion. With a `sink` its words go there as they come, if the host can; LlmError otherwise.

    A host that refuses token counts in streams, or streams, is asked again without; that is remembered for
    ten minutes.
    """
    if sink is None:
        return _plain(host, request, found, deadline, Sink())
    mode = _mode(host)
    while True:
        try:
            if mode == "plain":
                completion = _plain(host, request, found, deadline, sink, _idle_s())
                sink.text(completion.text)
                return completion
            return _stream(host, request, found, deadline, sink, mode)
        except LlmError as error:
            lower = _lower(mode, error)
            if not lower:
                raise
            mode = lower
            _refused[host.url, host.model] = (mode, time.monotonic() + REMEMBERED_S)


def _idle_s() -> float:
    return float(settings.LLM_TIMEOUT_S)


def _mode(host: Host) -> str:
    mode, until = _refused.get((host.url, host.model), (LADDER[0], 0.0))
    return mode if time.monotonic() < until else LADDER[0]


def _lower(mode: str, error: LlmError) -> str:
    """How to ask instead; blank when the refusal is not about that."""
    detail = error.detail.lower()
    if error.reason != "llm_refused" or mode == "plain" or "stream" not in detail:
        return ""
    is_about_usage = "stream_options" in detail or "include_usage" in detail
    return "bare" if mode == "usage" and is_about_usage else "plain"


def _plain(
    host: Host,
    request: Request,
    found: Sequence[str],
    deadline: float,
    sink: Sink,
    idle_s: float | None = None,
) -> Completion:
    with _client(host, found, deadline, sink, idle_s) as (client, _), _troubles(sink):
        return read_body(_post(client, _body(host, request)).text)


def _stream(
    host: Host, request: Request, found: Sequence[str], deadline: float, sink: Sink, mode: str
) -> Completion:
    body = {**_body(host, request), "stream": True}
    if mode == "usage":
        body["stream_options"] = {"include_usage": True}
    reader = StreamReader()
    with _client(host, found, deadline, sink, _idle_s()) as (client, hang_up), _troubles(sink, reader):
        with contextlib.closing(_post(client, body, is_stream=True)) as response:
            _read(response, reader, sink, hang_up)
        if sink.is_stopped() and not reader.is_over:
            raise LlmError("stopped")
        rest, completion = reader.end()
        sink.text(rest)
        return completion


def _post(client: openai.OpenAI, body: dict[str, Any], *, is_stream: bool = False) -> httpx.Response:
    """The SDK's request for this body as it is: its typed method walks through every message and tool for
    milliseconds and changes nothing. A stream's body is not read yet.
    """
    import httpx

    how: Any = {"headers": {"X-Stainless-Raw-Response": "stream"} if is_stream else {}}
    response: httpx.Response = client.post(
        "/chat/completions", cast_to=httpx.Response, body=body, options=how
    )
    return response


def _read(response: httpx.Response, reader: StreamReader, sink: Sink, hang_up: HangUp) -> None:
    patience = threading.Timer(AFTER_END_S, hang_up)
    patience.daemon = True
    try:
        for data in response.iter_raw():
            if words := reader.feed(data):
                sink.text(words)
            if reader.is_done or sink.is_stopped():
                return
            if reader.is_over and patience.ident is None:
                patience.start()
    except Exception:
        if not reader.is_over:
            raise
    finally:
        patience.cancel()


@contextmanager
def _client(
    host: Host, found: Sequence[str], deadline: float, sink: Sink, idle_s: float | None = None
) -> Iterator[tuple[openai.OpenAI, HangUp]]:
    import openai

    from synth.net.transport import HangUp, pinned_client, refuse_packed

    # Without these the SDK would send ids from the environment to whatever host is configured.
    no_ids: dict[str, Any] = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    hang_up: HangUp = HangUp()
    with pinned_client(found, deadline, hang_up=hang_up, idle_s=idle_s) as http, sink.connected(hang_up):
        http.event_hooks = {"response": [refuse_packed]}
        try:
            client = openai.OpenAI(
                api_key=host.api_key or "none",
                base_url=host.url,
                max_retries=0,
                timeout=http.timeout,  # the transport keeps the deadline
                http_client=http,
                default_headers=no_ids,
            )
            yield client, hang_up
        finally:
            hang_up.let_go()


@contextmanager
def _troubles(sink: Sink, reader: StreamReader | None = None) -> Iterator[None]:
    """Whatever goes wrong becomes an LlmError that carries what had come by then."""
    import httpx
    import openai

    try:
        yield
    except LlmError as error:
        raise _with_partial(error, sink, reader) from None
    except (openai.APITimeoutError, httpx.TimeoutException):
        raise _with_partial(LlmError("llm_timeout"), sink, reader) from None
    except openai.APIStatusError as error:
        answer: httpx.Response = error.response
        raise error_of_status(answer.status_code, answer.headers, answer.text, now()) from None
    except (openai.APIConnectionError, httpx.HTTPError) as error:
        raise _with_partial(LlmError("llm_unreachable", _cause(error)), sink, reader) from None
    except openai.OpenAIError as error:
        raise LlmError("llm_refused", type(error).__name__) from None


def _with_partial(error: LlmError, sink: Sink, reader: StreamReader | None) -> LlmError:
    if sink.is_stopped():
        error = LlmError("stopped")
    has_come = reader is not None and reader.has_begun
    if reader is not None and (has_come or error.reason == "stopped"):
        error.partial = reader.so_far()
    return error


def _body(host: Host, request: Request) -> dict[str, Any]:
    """Arguments of the SDK call."""
    # OpenAI's own newer models refuse the old name; other hosts know only the old one.
    limit = "max_completion_tokens" if urlsplit(host.url).hostname == "api.openai.com" else "max_tokens"
    body: dict[str, Any] = {
        "model": host.model,
        "messages": [m.as_openai() for m in request.messages],
        limit: min(request.max_tokens or settings.LLM_MAX_TOKENS, settings.LLM_MAX_TOKENS),
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = list(request.tools)
        if request.tool_choice:
            body["tool_choice"] = request.tool_choice
    return body


def _cause(error: BaseException) -> str:
    """The kind of trouble, never its text: an exception about a header would quote the key."""
    cause = error.__cause__ or error
    return f"({type(cause).__name__})"
