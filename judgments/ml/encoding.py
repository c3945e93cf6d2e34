"""Texts as token vectors: each text read once, in windows where it is long, in batches of like length.

A text over the window is read as overlapping windows whose tokens stand side by side: a head attends over
all of them, and a text's vector is the mean of its tokens.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from judgments.ml.encoders import Encoder
from judgments.ml.rendering import windows

WINDOW_TOKENS = 224
OVERLAP_TOKENS = 32
BATCH_TOKENS = 4096
KEPT_TEXTS = 4096
PIECE_CHARS = 8_192  # counted at once: a tokenizer holds up everything else in its process meanwhile


class TooLong(ValueError):
    """More tokens than a reader takes; `limit` and `found` are counts of tokens, where counting ended."""

    def __init__(self, limit: int, found: int) -> None:
        super().__init__(f"max_tokens_exceeded: at most {limit} tokens are read, these are {found}")
        self.limit = limit
        self.found = found


@dataclass(frozen=True)
class Read:
    """One text: token vectors (tokens, hidden) and their mean, of length one."""

    tokens: Tensor
    mean: Tensor


class Reading:
    """An encoder with a memory of the texts it read last (questions and options come again and again)."""

    def __init__(self, encoder: Encoder, *, kept: int = KEPT_TEXTS) -> None:
        self.encoder = encoder
        self._kept = kept
        self._known: OrderedDict[str, Read] = OrderedDict()

    def count(self, text: str, most: int) -> int:
        """How many tokens a text has; of a text far over `most`, as many as were counted by then.

        Megabytes would take half a minute, in which nobody else is answered.
        """
        n_about = 0
        for start in range(0, len(text) if len(text) > PIECE_CHARS else 0, PIECE_CHARS):
            n_about += len(self.encoder.ids(text[start : start + PIECE_CHARS]))
            if n_about > 2 * most:  # what is cut between two pieces cannot be as much
                return n_about
        return len(self.encoder.ids(text))

    def read(self, texts: Iterable[str], *, keep: bool = False) -> dict[str, Read]:
        """Every distinct text read. With `keep` they stay known for the next call."""
        wanted = dict.fromkeys(texts)
        found = {text: self._known[text] for text in wanted if text in self._known}
        fresh = self._read([text for text in wanted if text not in found])
        if keep:
            self._known.update(fresh)
            for text in wanted:
                self._known.move_to_end(text)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return found | fresh

    def _read(self, texts: Sequence[str]) -> dict[str, Read]:
        e = self.encoder
        prefix = e.ids(e.prefix.strip()) if e.prefix else []
        parts: list[tuple[str, list[int]]] = []
        for text in texts:
            for window in windows(e.ids(text), WINDOW_TOKENS, OVERLAP_TOKENS):
                parts.append((text, [e.bos, *prefix, *window, e.eos]))
        order = sorted(range(len(parts)), key=lambda n: len(parts[n][1]))
        tokens: list[Tensor] = [torch.empty(0)] * len(parts)
        for batch in _batches([(n, len(parts[n][1])) for n in order]):
            ids, mask = e.padded([parts[n][1] for n in batch])
            with torch.inference_mode():
                x = e.bert(ids, mask)
            for row, n in enumerate(batch):
                tokens[n] = x[row, : len(parts[n][1])].clone()
        grouped: dict[str, list[Tensor]] = {}
        for (text, _), vectors in zip(parts, tokens, strict=True):
            grouped.setdefault(text, []).append(vectors)
        return {text: _joined(vectors) for text, vectors in grouped.items()}


def _joined(vectors: list[Tensor]) -> Read:
    whole = torch.cat(vectors) if len(vectors) > 1 else vectors[0]
    return Read(whole, functional.normalize(whole.mean(0), dim=0))


def _batches(lengths: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Rows in order of length, cut where their padded size passes the budget."""
    found: list[list[int]] = []
    for n, length in lengths:
        if found and (len(found[-1]) + 1) * length <= BATCH_TOKENS:
            found[-1].append(n)
        else:
            found.append([n])
    return found
