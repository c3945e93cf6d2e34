"""Sends one request to the language model that an agent's purpose is set to use.

`host_for` names it, `send` talks to it: through the official SDK for any OpenAI-compatible host, or from a
file of scripted replies. No retries, no redirects, one deadline for everything, addresses looked up once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.timezone import now

from synth.llm import addresses, scripted
from synth.llm.completion import Completion, error_of_status, read_body
from synth.llm.messages import Request
from synth.llm.reasons import LlmError

if TYPE_CHECKING:
    import httpx

    from synth.models import Agent

# Purposes that the model override `chat` covers; everything else is background work, `grillo`.
FOREGROUND = frozenset({"chat", "proactive"})


@dataclass(frozen=True)
class Host:
    """A configured model. `backend` is `openai` or `scripted`; `label` is what records and logs show."""

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


def host_for(agent: Agent | None, purpose: str) -> Host:
    """The model for this agent and purpose. LlmError `no_language_model` when there is none."""
    typed = (settings.LLM_BASE_URL or "").strip()
    if not typed:
        raise LlmError("no_language_model")
    if typed == "local":
        raise LlmError("no_language_model", "The local model is not part of this version.")
    model = _override(agent, purpose) or settings.LLM_MODEL or "default"
    if typed.startswith(scripted.PREFIX):
        return Host("scripted", typed.removeprefix(scripted.PREFIX), model, "scripted")
    try:
        url = addresses.base_url(typed)
    except ValueError as error:
        raise LlmError("no_language_model", str(error)) from None
    return Host("openai", url, model, addresses.host_label(url), (settings.LLM_API_KEY or "").strip())


def send(host: Host, request: Request) -> Completion:
    """One round trip within the deadline. LlmError for everything that is no completion."""
    if host.backend == "scripted":
        return scripted.send(host.url, request.purpose)
    import openai  # noqa: F401 - a second and 40 MB, at the first call and before its deadline runs

    deadline = time.monotonic() + (request.timeout_s or settings.LLM_TIMEOUT_S)
    return _send_openai(host, request, _addresses(host, request, deadline), deadline)


def _addresses(host: Host, request: Request, deadline: float) -> list[str]:
    url = urlsplit(host.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    found = addresses.resolve(url.hostname or "", port, deadline - time.monotonic())
    if request.agent and request.agent.local_only and not all(map(addresses.is_local, found)):
        raise LlmError("local_only", f"{host.label} is not on this network.")
    return found


def _send_openai(host: Host, request: Request, found: list[str], deadline: float) -> Completion:
    import openai

    from synth.net.transport import pinned_client, refuse_packed

    # Without these the SDK would send ids from the environment to whatever host is configured.
    no_ids: dict[str, Any] = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    with pinned_client(found, deadline) as http:
        http.event_hooks = {"response": [refuse_packed]}
        client = openai.OpenAI(
            api_key=host.api_key or "none",
            base_url=host.url,
            max_retries=0,
            timeout=None,  # the transport keeps the deadline
            http_client=http,
            default_headers=no_ids,
        )
        try:
            raw = client.chat.completions.with_raw_response.create(**_body(host, request))
        except openai.APITimeoutError:
            raise LlmError("llm_timeout") from None
        except openai.APIStatusError as error:
            answer: httpx.Response = error.response
            raise error_of_status(answer.status_code, answer.headers, answer.text, now()) from None
        except openai.APIConnectionError as error:
            raise LlmError("llm_unreachable", _cause(error)) from None
        except openai.OpenAIError as error:
            raise LlmError("llm_refused", type(error).__name__) from None
        return read_body(raw.http_response.text)


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


def _override(agent: Agent | None, purpose: str) -> str:
    overrides = agent.model_overrides if agent and isinstance(agent.model_overrides, dict) else {}
    name = overrides.get("chat" if purpose in FOREGROUND else "grillo")
    return name if isinstance(name, str) else ""
