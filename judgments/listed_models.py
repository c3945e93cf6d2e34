"""What `manage.py models` says of the readers of System 1 that no package brings."""

from __future__ import annotations

from pathlib import Path

from judgments import heads, options
from synth.inference.specs import LISTERS, Listed, weights

MIB = 1024 * 1024


def listed() -> list[Listed]:
    """The shipped heads, and the language model where one is named."""
    return [*(_head(family, data) for family, data in heads.shipped().items()), *_language_model()]


def _head(family: str, data: bytes) -> Listed:
    name = f"{heads.MODEL_PREFIX}{family}: a trained head, in the repository"
    try:
        said = heads.said(data)
    except heads.BadHead as error:
        return Listed(name, "", f"broken: {error}")
    written = heads.held_out().get(family, {}).get("written", {})
    right = f"{written['accuracy']:.0%} right on rows nobody trained on" if written else "not measured"
    return Listed(name, f"version {said.version}, {len(data) // 1024} KiB, needs {said.encoder}; {right}")


def _language_model() -> list[Listed]:
    named = options.read(options.LANGUAGE_MODEL)
    if not named:
        return []
    path, name = Path(str(named)), f"{heads.LANGUAGE_MODEL}: the language model SYSTEM_ONE_LM names"
    files = weights(path)
    if not files:
        return [Listed(name, "", f"{path}: no .gguf file and no folder with weights")]
    size = sum(file.stat().st_size for file in files) // MIB
    return [Listed(name, f"{path}, {size} MiB on disk; unpacked to float32 it takes up to eight times that")]


def register() -> None:
    """Called once when Django starts."""
    LISTERS.append(listed)
