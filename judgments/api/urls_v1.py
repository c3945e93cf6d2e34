"""The addresses under `/v1/`, each with and without a slash at its end; nothing redirects."""

from __future__ import annotations

from judgments.api import serve
from synth.api.urls import both

urlpatterns = [
    both("systemone", serve.systemone, "systemone"),
    both("decisions", serve.decisions, "decisions"),
    both("models", serve.models, "models"),
    both(r"models/(?P<name>[^/].{0,199}?)", serve.model, "model"),
]
