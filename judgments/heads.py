"""Trained heads as files: where the shipped ones lie, and what the bytes of one say of it. Needs no torch.

A head is a safetensors file of float16 tensors. Its metadata name the judgment, the digest of the question it
was trained on, the encoder it needs and what was measured; its version is the start of its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "data" / "heads"
MODEL_PREFIX = "synth-"  # a head's name as a model: synth-growth.decision
MAX_ECE = 0.1  # over it an answer says x_calibrated: false
# The readers of the torch worker that are no heads, as models.
ALL, EMBEDDING, LANGUAGE_MODEL = "synth-systemone", "synth-embedding", "synth-lm"


class BadHead(ValueError):
    """Bytes that are no head of ours."""


@dataclass(frozen=True)
class Said:
    """What a head's file says of itself. `fields` is None where the judgment's own parts are read."""

    family: str
    key: str
    encoder: str
    version: str
    metrics: dict[str, Any]
    fields: dict[str, Any] | None = None

    @property
    def is_calibrated(self) -> bool:
        """Whether its probabilities were near the truth on rows like real ones, else on its own test rows."""
        measured = held_out().get(self.family, {})
        is_this = measured.get("version") == self.version
        ece = (measured["written"] if is_this else self.metrics).get("ece")
        return ece is not None and ece <= MAX_ECE

    @property
    def model(self) -> str:
        """`synth-growth.decision`: the name clients may ask for."""
        return f"{MODEL_PREFIX}{self.family}"


def said(data: bytes) -> Said:
    """The metadata of these bytes. BadHead for others."""
    try:
        n = int.from_bytes(data[:8], "little")
        found: dict[str, str] = json.loads(data[8 : 8 + n])["__metadata__"]
        fields = json.loads(found["fields"]) if "fields" in found else None
        metrics = json.loads(found["metrics"])
        return Said(found["family"], found["key"], found["encoder"], version_of(data), metrics, fields)
    except (ValueError, KeyError, TypeError) as error:
        raise BadHead(str(error)[:200]) from None


def version_of(data: bytes) -> str:
    """The first eight digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:8]


@cache
def held_out() -> dict[str, dict[str, Any]]:
    """What `judgments evaluate --shipped` said of the heads in the repository, by family."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "held_out.json").read_text(encoding="utf-8"))
    return found


@cache
def shipped() -> dict[str, bytes]:
    """The files of the heads in the repository, by family."""
    return {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.safetensors"))}
