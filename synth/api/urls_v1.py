"""The core's addresses under `/v1/`, each with and without a slash at its end; nothing redirects."""

from __future__ import annotations

from synth.api.openai_chat import ChatCompletionsView
from synth.api.urls import both

urlpatterns = [both("chat/completions", ChatCompletionsView.as_view(), "chat-completions")]
