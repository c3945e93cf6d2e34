"""The language model that the torch worker of this install runs, asked over the queue of local models.

No torch here. The words come piece by piece with or without a sink, so that a reply that breaks is kept.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.utils.module_loading import import_string

from synth.inference import queue, specs
from synth.llm.completion import Completion
from synth.llm.marked_calls import Words
from synth.llm.messages import Request
from synth.llm.reasons import LlmError
from synth.llm.sink import Sink
from synth.llm.tolerant import clean_text

if TYPE_CHECKING:
    from synth.inference.runners import Runner

KIND = "generate"
_REFUSALS = frozenset({"max_tokens_exceeded", "refused"})  # what was asked, not the worker


def make_runner() -> Runner:
    """The runner of the worker loop. Imports torch: only the torch process calls it."""
    runner: Runner = import_string("synth.llm.ml.generating.Generating")()
    return runner


def model_name(named: str) -> str:
    """What records call the model at a path: the folder's name, or the file's without its ending."""
    path = Path(named)
    return (path.stem if path.suffix == ".gguf" else path.name)[:200]


def ask(request: Request, deadline: float, sink: Sink | None, *, priority: str) -> Completion:
    """One completion; `deadline` is monotonic. LlmError for everything that is none.

    A silence of more than LLM_TIMEOUT_S ends the call: that long it may wait for its turn, too.
    """
    sink = sink or Sink()
    words = Words(has_calls=bool(request.tools))

    def say(piece: str) -> None:
        sink.text(words.feed(clean_text(piece)))

    try:
        if sink.is_stopped():
            raise queue.Cancelled("cancelled")
        until = time.time() + max(0.0, deadline - time.monotonic())
        ask_id = queue.begin(KIND, _payload(request), deadline=until, priority=priority)
        idle_s = float(settings.LLM_TIMEOUT_S)
        said = queue.wait(ask_id, until, sink.is_stopped, say, idle_s)
    except queue.NoAnswer as error:
        raise _trouble(error, words) from None
    sink.text(words.end())
    return _completion(said, words)


def _payload(request: Request) -> dict[str, Any]:
    """The ask as the worker takes it. `ask` keeps two like requests from being computed once."""
    return {
        "ask": uuid4().hex,
        "messages": [m.as_openai() for m in request.messages],
        "tools": list(request.tools),
        "max_tokens": min(request.max_tokens or settings.LLM_MAX_TOKENS, settings.LLM_MAX_TOKENS),
        "temperature": request.temperature or 0.0,
        "schema": request.json_schema,
    }


def _completion(said: dict[str, Any], words: Words) -> Completion:
    finish = str(said.get("finish_reason", ""))
    return Completion(
        words.text,
        "tool_calls" if words.calls and finish == "stop" else finish,
        str(said.get("model", ""))[:200],
        said.get("n_prompt_tokens"),
        said.get("n_completion_tokens"),
        words.calls,
    )


def _trouble(error: queue.NoAnswer, words: Words) -> LlmError:
    """The door's word for it, with what had come by then."""
    if isinstance(error, queue.Cancelled):
        found = LlmError("stopped")
    elif isinstance(error, queue.Overloaded):
        found = LlmError("llm_overloaded", error.text, retry_after_s=error.retry_after_s)
    elif isinstance(error, queue.Late):
        found = LlmError("llm_timeout")
    elif isinstance(error, queue.NoWorker):
        found = LlmError("llm_unreachable", error.text or error.reason)
    else:
        found = LlmError("llm_refused" if error.reason in _REFUSALS else "llm_overloaded", error.text)
    if words.text or found.reason == "stopped":
        found.partial = Completion(words.text, "")
    return found


def listed() -> list[specs.Listed]:
    """What `manage.py models` says of the named model."""
    return specs.named("local: the language model LLM_LOCAL_MODEL names", settings.LLM_LOCAL_MODEL or "")


def register() -> None:
    """Called once when Django starts."""
    specs.LISTERS.append(listed)
