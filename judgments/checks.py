"""Start-up checks: every option fits its type, and no app's judgments failed to be declared."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from judgments import options, registry
from synth.options import BadOption


@register()
def check_judgments(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """One message for each value or declaration that does not fit."""
    found: list[CheckMessage] = []
    for option in options.MINE:
        try:
            options.read(option)
        except BadOption as error:
            found.append(Error(str(error), id="judgments.E001"))
    for problem in registry.problems():
        text = f"{problem.module} declares no judgments: {problem.message}"
        found.append(Warning(text, id="judgments.W001"))
    return found
