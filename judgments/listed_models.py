"""What `manage.py models` says of the readers of System 1 that no package brings."""

from __future__ import annotations

from judgments import heads, options
from synth.inference.specs import LISTERS, Listed, named


def listed() -> list[Listed]:
    """The shipped heads, and the language model where one is named."""
    heading = f"{heads.LANGUAGE_MODEL}: the language model SYSTEM_ONE_LM names"
    return [
        *(_head(family, data) for family, data in heads.shipped().items()),
        *named(heading, options.read(options.LANGUAGE_MODEL) or ""),
    ]


def _head(family: str, data: bytes) -> Listed:
    name = f"{heads.MODEL_PREFIX}{family}: a trained head, in the repository"
    try:
        said = heads.said(data)
    except heads.BadHead as error:
        return Listed(name, "", f"broken: {error}")
    written = heads.held_out().get(family, {}).get("written", {})
    right = f"{written['accuracy']:.0%} right on rows nobody trained on" if written else "not measured"
    return Listed(name, f"version {said.version}, {len(data) // 1024} KiB, needs {said.encoder}; {right}")


def register() -> None:
    """Called once when Django starts."""
    LISTERS.append(listed)
