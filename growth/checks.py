"""System checks of growth: environment settings that do not fit are reported at start, by id."""

from __future__ import annotations

import os
from typing import Any

from django.core.checks import CheckMessage, Warning, register

from growth.options import FIELDS
from growth.services.effective import parse
from synth.options import BadOption


@register("growth")
def environment_fits(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """growth.W001: a growth variable in the environment is not what it must be, and is not followed."""
    found: list[CheckMessage] = []
    for field, option in FIELDS.items():
        raw = os.environ.get(option.name, "")
        if not raw.strip():
            continue
        try:
            parse(field, raw)
        except BadOption as error:
            instead = "off" if field == "mode" else option.default
            found.append(Warning(f"{option.name}: {error}; {instead!r} is used instead", id="growth.W001"))
    return found
