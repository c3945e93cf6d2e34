"""The trained head of one judgment: options look at a state's tokens, and each gets one logit.

An option's logit depends on the option, the question and the state alone, so that the order of the options
cannot matter; softmax over them is the answer. A noul's two options are its outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from judgments.ml.encoding import Read
from synth.text.words import content_tokens

WIDTH, LOOKS, N_PAIR = 48, 3, 8
DROPPED = 0.3  # seeds are few: without it a head learns phrases by heart


@dataclass(frozen=True)
class Seen:
    """A state prepared for a head: its tokens, the field each is of, field means, and numbers about pairs."""

    tokens: Tensor
    field: Tensor
    means: Tensor
    pair: Tensor


def prepare(texts: list[list[str]], read: dict[str, Read], pair: tuple[int, int] | None, hidden: int) -> Seen:
    """What a head sees of a state; `texts` by field."""
    tokens, field, means = [], [], []
    for n, entries in enumerate(texts):
        for text in entries:
            tokens.append(read[text].tokens)
            field.append(torch.full((len(read[text].tokens),), n))
        found = [read[text].mean for text in entries]
        means.append(torch.stack(found).mean(0) if found else torch.zeros(hidden))
    numbers = torch.zeros(N_PAIR)
    if pair is not None:
        numbers = torch.tensor(_pair_numbers(texts[pair[0]], texts[pair[1]], read))
    if not tokens:
        tokens, field = [torch.zeros(1, hidden)], [torch.zeros(1)]
    return Seen(torch.cat(tokens), torch.cat(field).long(), torch.stack(means), numbers)


def _pair_numbers(left: list[str], right: list[str], read: dict[str, Read]) -> list[float]:
    """Likeness of two fields: vectors, tokens, shared words; and how much the right one repeats itself."""
    if not left or not right:
        return [0.0] * N_PAIR
    a = torch.stack([read[text].mean for text in left])
    b = torch.stack([read[text].mean for text in right])
    likeness = a @ b.T
    own = functional.normalize(torch.cat([read[text].tokens[1:-1] for text in left]), dim=-1)
    others = functional.normalize(torch.cat([read[text].tokens[1:-1] for text in right]), dim=-1)
    matched = (own @ others.T).max(1).values if len(own) and len(others) else torch.zeros(1)
    words = set[str]().union(*map(content_tokens, left))
    by_text = [content_tokens(text) for text in right]
    most = max((len(words & other) / max(1, len(words)) for other in by_text), default=0.0)
    whole = len(words & set[str]().union(*by_text)) / max(1, len(words))
    distinct = len(set(right)) / len(right)
    numbers = [likeness.max(), likeness.mean(), matched.mean(), matched.min()]
    return [*(20 * (float(n) - 0.8) for n in numbers), most, whole, distinct, min(1.0, len(right) / 10)]


class Head(nn.Module):
    """Logits of options; `temperature` is fitted after training, on rows kept apart for it."""

    def __init__(self, hidden: int, n_fields: int) -> None:
        super().__init__()
        self.key, self.value = nn.Linear(hidden, WIDTH), nn.Linear(hidden, WIDTH)
        self.query = nn.Linear(2 * hidden, LOOKS * WIDTH)
        self.field = nn.Embedding(n_fields, WIDTH)
        self.mean = nn.Linear(n_fields * hidden, WIDTH)
        self.option = nn.Linear(hidden, WIDTH)
        self.last = nn.Sequential(
            nn.Dropout(DROPPED),
            nn.Linear((2 * LOOKS + 3) * WIDTH + n_fields + N_PAIR, WIDTH),
            nn.GELU(),
            nn.Dropout(DROPPED),
            nn.Linear(WIDTH, 1),
        )
        # Straight from the numbers about pairs, so that they are not lost among a thousand others.
        self.straight = nn.Linear(N_PAIR + n_fields, WIDTH)
        self.register_buffer("temperature", torch.ones(()))

    def forward(self, seen: list[Seen], instructions: Tensor, options: Tensor) -> Tensor:
        """Logits (n, options) of states that are asked the same; `options` (n, options, hidden)."""
        longest = max(len(one.tokens) for one in seen)
        tokens = torch.stack([functional.pad(s.tokens, (0, 0, 0, longest - len(s.tokens))) for s in seen])
        field = torch.stack([functional.pad(s.field, (0, longest - len(s.field))) for s in seen])
        mask = torch.stack([torch.arange(longest) < len(s.tokens) for s in seen])
        n, n_options, hidden = options.shape
        marks = self.field(field)
        keys, values = self.key(tokens) + marks, self.value(tokens) + marks
        asked = torch.cat([options, instructions.expand(n, n_options, hidden)], -1)
        queries = self.query(asked).view(n, n_options * LOOKS, WIDTH)
        scores = (queries @ keys.transpose(1, 2)) / WIDTH**0.5
        scores = scores.masked_fill(~mask[:, None, :], torch.finfo(scores.dtype).min)
        found = (scores.softmax(-1) @ values).view(n, n_options, LOOKS * WIDTH)
        means = torch.stack([one.means for one in seen])
        own = self.option(options)
        whole = self.mean(means.reshape(n, -1))[:, None, :].expand(n, n_options, WIDTH)
        likeness = 10 * (torch.einsum("nfh,noh->nof", means, options) - 0.8)
        pair = torch.stack([one.pair for one in seen])[:, None, :].expand(n, n_options, N_PAIR)
        repeated = own.repeat(1, 1, LOOKS)
        parts = [found, found * repeated, own, whole, own * whole, likeness, pair]
        logits: Tensor = self.last(torch.cat(parts, -1)).squeeze(-1)
        numbers = torch.cat([pair, likeness], -1)
        logits = logits + (self.straight(numbers) * own).sum(-1) / WIDTH**0.5
        return logits / self.temperature
