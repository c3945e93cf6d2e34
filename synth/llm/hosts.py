"""Sends one request to the language model that an agent's purpose is set to use.

`host_for` names it, `send` talks to it: through the official SDK for any OpenAI-compatible host, to the torch
worker of this install, or from a file of scripted replies.
No retries, no redirects, one deadline for everything, addresses looked up once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from synth.llm import addresses, local_host, openai_host, scripted
from synth.llm.completion import Completion
from synth.llm.messages import Request
from synth.llm.reasons import LlmError
from synth.llm.sink import Sink

if TYPE_CHECKING:
    from synth.models import Agent

# Purposes that the model override `chat` covers; `judge` has its own, and the rest is background work,
# `grillo`.
FOREGROUND = frozenset({"chat", "proactive"})
JUDGE = "judge"
LONGEST_STREAM_S = 1200.0


@dataclass(frozen=True)
class Host:
    """A configured model. `backend`: `openai`, `local` or `scripted`; `label` is what records show."""

    backend: str
    url: str
    model: str
    label: str
    api_key: str = field(default="", repr=False)


def is_configured(agent: Agent | None = None, purpose: str = "chat") -> bool:
    """Whether a call could be made at all; says nothing about the host being up."""
    try:
        host_for(agent, purpose)
    except LlmError:
        return False
    return True


def warm_up() -> None:
    """Load the SDK where calls go through it, before the first person waits for it."""
    typed = (settings.LLM_BASE_URL or "").strip()
    if typed and typed != "local" and not typed.startswith(scripted.PREFIX):
        import openai  # noqa: F401 - a second and 40 MB


def host_for(agent: Agent | None, purpose: str) -> Host:
    """The model for this agent and purpose. LlmError `no_language_model` when there is none."""
    typed = (settings.LLM_BASE_URL or "").strip()
    if not typed:
        raise LlmError("no_language_model")
    if typed == "local":
        return _local()
    model = _override(agent, purpose) or settings.LLM_MODEL or "default"
    if typed.startswith(scripted.PREFIX):
        return Host("scripted", typed.removeprefix(scripted.PREFIX), model, "scripted")
    try:
        url = addresses.base_url(typed)
    except ValueError as error:
        raise LlmError("no_language_model", str(error)) from None
    return Host("openai", url, model, addresses.host_label(url), (settings.LLM_API_KEY or "").strip())


def send(host: Host, request: Request, sink: Sink | None = None) -> Completion:
    """One round trip within the deadline; with a `sink` the words go there as they come.

    LlmError for everything that is no completion. A streamed call may take long, but not be silent for more
    than LLM_TIMEOUT_S.
    """
    if host.backend == "scripted":
        return scripted.send(host.url, request.purpose, sink)
    if host.backend == "openai":
        import openai  # noqa: F401 - a second and 40 MB, at the first call and before its deadline runs

    limit_s = settings.LLM_TIMEOUT_S if sink is None else max(LONGEST_STREAM_S, settings.LLM_TIMEOUT_S)
    deadline = time.monotonic() + (request.timeout_s or limit_s)
    if host.backend == "local":
        is_urgent = request.purpose in FOREGROUND or request.purpose == JUDGE
        return local_host.ask(request, deadline, sink, priority="CHAT" if is_urgent else "NICE")
    return openai_host.ask(host, request, _addresses(host, request, deadline), deadline, sink)


def _local() -> Host:
    named = (settings.LLM_LOCAL_MODEL or "").strip()
    if not named:
        raise LlmError("no_language_model", "LLM_LOCAL_MODEL names none for LLM_BASE_URL=local.")
    return Host("local", "", local_host.model_name(named), "local")


def _addresses(host: Host, request: Request, deadline: float) -> list[str]:
    url = urlsplit(host.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    found = addresses.resolve(url.hostname or "", port, deadline - time.monotonic())
    if request.agent and request.agent.local_only and not all(map(addresses.is_local, found)):
        raise LlmError("local_only", f"{host.label} is not on this network.")
    return found


def _override(agent: Agent | None, purpose: str) -> str:
    overrides = agent.model_overrides if agent and isinstance(agent.model_overrides, dict) else {}
    name = overrides.get("chat" if purpose in FOREGROUND else "grillo")
    if purpose == JUDGE:
        name = overrides.get(JUDGE) or name
    return name if isinstance(name, str) else ""
