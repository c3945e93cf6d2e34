"""Texts as vectors for recall by meaning: the mean of a text's tokens, less what all texts have in common.

Uncentred vectors of the multilingual encoder have cosines of 0.7 to 0.9 whatever they say, and share most
signs; what is left after taking the mean of many texts off tells them apart, across languages too.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from judgments.ml.encoders import Encoder
from judgments.ml.encoding import Reading
from synth.inference.wire import Problem
from synth.recall import meaning

RECIPE = 1  # part of the model's name: raise it when the same text gets another vector
MAX_TEXTS = 32
MAX_CHARS = 2_000
SIDES = ("query", "passage")
CENTRES = Path(__file__).parent.parent / "data" / "centres"


class Embedding:
    """Vectors of one encoder. `model` names it; vectors of other names are not comparable."""

    def __init__(self, encoder: Encoder) -> None:
        # Its training told questions from what answers them by the word before the text.
        prefixes = {side: f"{side}: " if encoder.prefix else "" for side in SIDES}
        self._readings = {
            side: Reading(dataclasses.replace(encoder, prefix=prefix)) for side, prefix in prefixes.items()
        }
        self.model = f"{encoder.name}/{RECIPE}"
        self._centre = centre(encoder.name)

    def run(self, payloads: Sequence[dict[str, Any]]) -> list[dict[str, Any] | Problem]:
        """One answer a payload `{"texts": [...], "side": "query" or "passage"}`, all read together.

        `{"model": name, "vectors": [...]}`, each vector as half floats in base64, of length one.
        """
        asked = [_checked(payload) for payload in payloads]
        vectors: dict[tuple[str, str], str] = {}
        for side in SIDES:
            texts = dict.fromkeys(t for one in asked if one and one[0] == side for t in one[1])
            found = self.vectors(list(texts), side)
            vectors |= {(side, text): _dumped(row) for text, row in zip(texts, found, strict=True)}
        return [
            {"model": self.model, "vectors": [vectors[one[0], text] for text in one[1]]}
            if one
            else Problem("refused", f"At most {MAX_TEXTS} texts and a side are needed.")
            for one in asked
        ]

    def vectors(self, texts: Sequence[str], side: str) -> Tensor:
        """Vectors (n, width) of length one."""
        if not texts:
            return torch.empty(0, len(self._centre))
        read = self._readings[side].read(texts)
        return functional.normalize(torch.stack([read[text].mean for text in texts]) - self._centre, dim=1)


def centre(name: str) -> Tensor:
    """The mean of many texts in many languages, zeros for an encoder without one. A test makes it anew."""
    path = CENTRES / f"{name}.txt"
    if not path.is_file():
        return torch.zeros(meaning.DIMS)
    return torch.tensor(meaning.unpack(base64.b64decode(path.read_text())))


def _checked(payload: dict[str, Any]) -> tuple[str, list[str]] | None:
    """Side and texts, each cut; None for anything else."""
    texts, side = payload.get("texts"), payload.get("side")
    if side not in SIDES or not isinstance(texts, list) or len(texts) > MAX_TEXTS:
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    return side, [text[:MAX_CHARS] for text in texts]


def _dumped(vector: Tensor) -> str:
    return base64.b64encode(meaning.pack(vector.tolist())).decode()
