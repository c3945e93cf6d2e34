"""A BERT encoder in plain torch: token vectors of padded batches of texts.

Texts of one batch are padded to the longest; a mask keeps padding out of attention, so that batch mates move
nothing but the last bits of a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from synth.inference.wanted import look


@dataclass(frozen=True)
class Shape:
    """Sizes of an encoder."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    epsilon: float = 1e-12


class Layer(nn.Module):
    """One block: attention and a feed-forward part, each added and normed."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.hidden
        self.heads = shape.heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attended = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps=shape.epsilon)
        self.inner = nn.Linear(width, shape.intermediate)
        self.outer = nn.Linear(shape.intermediate, width)
        self.outer_norm = nn.LayerNorm(width, eps=shape.epsilon)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """`x` (n, tokens, hidden); `mask` (n, tokens), True where a token is."""
        n, length, width = x.shape
        query, key, value = (
            part(x).view(n, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        x = self.attended_norm(x + self.attended(found.transpose(1, 2).reshape(n, length, width)))
        y: Tensor = self.outer_norm(x + self.outer(functional.gelu(self.inner(x))))
        return y


class Bert(nn.Module):
    """Embeddings and layers; `lower` runs the first `n`, `upper` the rest."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.types = nn.Parameter(torch.zeros(shape.hidden))
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def embed(self, ids: Tensor) -> Tensor:
        """Tokens (n, length) as vectors (n, length, hidden)."""
        places = torch.arange(ids.shape[1], device=ids.device)
        found: Tensor = self.norm(self.words(ids) + self.positions(places) + self.types)
        return found

    def lower(self, ids: Tensor, mask: Tensor, n: int) -> Tensor:
        """Token vectors after the first `n` layers. Unwanted from the layer where nobody waits any more."""
        x = self.embed(ids)
        for layer in self.layers[:n]:
            look()
            x = layer(x, mask)
        return x

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Token vectors after the last layer."""
        return self.lower(ids, mask, len(self.layers))


def pooled(x: Tensor, mask: Tensor) -> Tensor:
    """The mean of the tokens of each text, of length one."""
    weight = mask.to(x.dtype)[:, :, None]
    return functional.normalize((x * weight).sum(1) / weight.sum(1).clamp_min(1), dim=-1)
