"""What a text means as a vector, and how that moves what words found. Pure.

Vectors have length one and come with the sign of each number as a bit: two texts that mean the same share
most bits, and a database counts bits fast. Vectors of two models say nothing about each other.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

DIMS = 384
N_BYTES = 2 * DIMS
MAX_MODEL_CHARS = 64
# Cosines of unrelated texts lie below the first in 99 of 100 pairs, those of a question and its answer mostly
# between the two (docs/performance.md).
UNRELATED, SAME = 0.25, 0.6
WEIGHT = 0.6
LEAST_ALONE = 0.2
_HALVES = struct.Struct(f"<{DIMS}e")
_LENGTH_OFF = 0.02  # rounding to half floats moves the length of a vector by far less


@dataclass(frozen=True)
class Meaning:
    """A text's vector as half floats (little-endian, length one), and the model that made it."""

    model: str
    packed: bytes

    @property
    def numbers(self) -> tuple[float, ...]:
        """The vector as numbers."""
        return unpack(self.packed)

    @property
    def signs(self) -> str:
        """A bit for each number, 1 where it is above zero."""
        return "".join("1" if number > 0 else "0" for number in self.numbers)


def unpack(packed: bytes) -> tuple[float, ...]:
    """The numbers of a vector. struct.error for a wrong length."""
    return _HALVES.unpack(packed)


def pack(numbers: Sequence[float]) -> bytes:
    """The other way round."""
    return _HALVES.pack(*numbers)


def read(answer: Mapping[str, Any], n: int) -> list[Meaning]:
    """The worker's answer to `n` texts. ValueError for anything but `n` vectors of one model."""
    model, vectors = answer.get("model"), answer.get("vectors")
    if not isinstance(model, str) or not 0 < len(model) <= MAX_MODEL_CHARS:
        raise ValueError("no model is named")
    if not isinstance(vectors, list) or len(vectors) != n:
        raise ValueError(f"{n} vectors are needed")
    return [Meaning(model, _packed(one)) for one in vectors]


def _packed(text: Any) -> bytes:
    try:
        packed = base64.b64decode(text, validate=True)
        numbers = unpack(packed)
    except (TypeError, ValueError, binascii.Error, struct.error):
        raise ValueError("no vector") from None
    length = math.sqrt(sum(map(mul, numbers, numbers)))
    if not abs(length - 1) <= _LENGTH_OFF:  # also false for what is no number
        raise ValueError(f"a vector of length {length:.3f}")
    return packed


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """How near two vectors of length one are, -1 to 1."""
    return float(sum(map(mul, a, b)))


def share(near: float) -> float:
    """A cosine as the part of the meaning that two texts share, 0 to 1."""
    return min(1.0, max(0.0, (near - UNRELATED) / (SAME - UNRELATED)))


def lifted(score: float, near: float) -> float:
    """A score by words (0 to 1), lifted by meaning: never lower, never over 1.

    Meaning closes at most `WEIGHT` of what words left open, so a memory that holds the rare words asked for
    stays before one that only means something like it.
    """
    return score + (1 - score) * WEIGHT * share(near)


def fuse(found: Sequence[tuple[int, float]], cosines: Mapping[int, float]) -> list[tuple[int, float]]:
    """Ids and scores by words, in the order of words and meaning together.

    What only meaning found comes in where its score reaches `LEAST_ALONE`. Equal scores keep the order of
    words.
    """
    by_words = dict(found)
    scored = [(pk, lifted(score, cosines.get(pk, 0.0))) for pk, score in found]
    alone = [(pk, lifted(0.0, near)) for pk, near in cosines.items() if pk not in by_words]
    scored += sorted((one for one in alone if one[1] >= LEAST_ALONE), key=lambda one: (-one[1], -one[0]))
    return sorted(scored, key=lambda one: -one[1])
