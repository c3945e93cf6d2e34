"""What a causal language model would say after each of many continuations of one text, which is read once.

Three ways, tried on a small text when a model is loaded; the first that agrees with reading every whole text
by itself is used. Packed: all continuations in one row (models whose attention takes a mask). Repeated: a
padded batch over a repeated cache (recurrent and hybrid models). Whole: text and continuation, each time.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from judgments.ml.packing import pack, parts
from synth.inference.wanted import look

PACKED_TOKENS = 256  # attention inside a packed row grows with its square; more was no faster
PADDED_TOKENS = 4_096
NEAR = 1e-4  # of the largest logit; a wrong place or mask is far beyond

Rows = Sequence[Sequence[int]]
Way = Callable[[Sequence[int], Rows], Tensor]


class Continuing:
    """A model whose output matrix is cut down to the rows of `candidates`, in place."""

    def __init__(self, model: Any, candidates: Sequence[int]) -> None:
        self.model = model.eval().requires_grad_(False)
        _keep_rows(self.model, candidates)
        _look_between_layers(self.model)
        names = inspect.signature(type(self.model).forward).parameters
        self._cache = "cache" if "cache" in names else "past_key_values"
        self._dtype = self.model.get_input_embeddings().weight.dtype
        self.way = self._first_that_agrees()

    def logits(self, prefix: Sequence[int], rows: Rows) -> Tensor:
        """(rows, candidates) in float32: the logits after prefix and row. Neither may be empty."""
        with torch.inference_mode():
            return self._ways()[self.way](prefix, rows).float()

    def _ways(self) -> dict[str, Way]:
        return {"packed": self._packed, "repeated": self._repeated, "whole": self._whole}

    def _first_that_agrees(self) -> str:
        limit = int(self.model.get_input_embeddings().weight.shape[0]) - 1
        prefix = [(7 * n + 3) % limit for n in range(9)]
        rows = [[5 % limit, 11 % limit], [5 % limit, 13 % limit, 2 % limit, 17 % limit], [19 % limit]]
        with torch.inference_mode():
            wanted = self._whole(prefix, rows)
            near = NEAR * float(wanted.abs().max())
            for name, way in self._ways().items():
                if _agrees(way, prefix, rows, wanted, near):
                    return name
        return "whole"

    def _packed(self, prefix: Sequence[int], rows: Rows) -> Tensor:
        from transformers import DynamicCache

        cache = DynamicCache()
        found = torch.empty(0)
        start = torch.tensor(prefix)
        for part in parts(rows, PACKED_TOKENS):
            tree = pack([rows[n] for n in part])
            n_old = 0 if len(start) else len(prefix)
            n_start, n = len(start), len(start) + len(tree.ids)
            sees = torch.ones(n, n_old + n, dtype=torch.bool)
            sees[:n_start] = sees[:n_start].tril()
            sees[:n_start, n_start:] = False
            sees[n_start:, n_old + n_start :] = tree.sees
            places = torch.cat([torch.arange(len(prefix))[:n_start], tree.places + len(prefix)])
            logits = self.model(
                torch.cat([start, tree.ids])[None],
                attention_mask=self._masks(sees, torch.cat([torch.arange(n_old), places]), places),
                position_ids=places[None],
                logits_to_keep=tree.ends + n_start,
                use_cache=True,
                **{self._cache: cache},
            ).logits[0]
            cache.crop(-len(tree.ids))
            start = torch.empty(0, dtype=torch.long)
            if not len(found):
                found = logits.new_empty(len(rows), logits.shape[-1])
            found[torch.tensor(part)] = logits
        return found

    def _masks(self, sees: Tensor, columns: Tensor, places: Tensor) -> Any:
        """What is added to attention, one for each kind of layer where a model has several."""
        config = self.model.config.get_text_config(decoder=True)
        kinds = set(getattr(config, "layer_types", None) or ())
        window = getattr(config, "sliding_window", None)
        if window and (not kinds or "sliding_attention" in kinds):
            near = sees & (places[:, None] - columns[None] < window)
        else:
            near = sees
        if len(kinds) < 2:
            return self._added(near)
        return {kind: self._added(near if kind == "sliding_attention" else sees) for kind in kinds}

    def _added(self, sees: Tensor) -> Tensor:
        mask = torch.zeros(sees.shape, dtype=self._dtype).masked_fill(~sees, torch.finfo(self._dtype).min)
        return mask[None, None]

    def _repeated(self, prefix: Sequence[int], rows: Rows) -> Tensor:
        read = self.model(torch.tensor([list(prefix)]), use_cache=True, logits_to_keep=1)
        cache = getattr(read, self._cache)

        def after(part: Rows) -> Tensor:
            repeated = copy.deepcopy(cache)
            repeated.reorder_cache(torch.zeros(len(part), dtype=torch.long))
            return self._padded(part, **{self._cache: repeated, "use_cache": True})

        return self._in_parts(rows, after)

    def _whole(self, prefix: Sequence[int], rows: Rows) -> Tensor:
        return self._in_parts([[*prefix, *row] for row in rows], self._padded)

    def _in_parts(self, rows: Rows, read: Callable[[Rows], Tensor]) -> Tensor:
        """Rows of like length together, no more of them than the budget of padded tokens allows."""
        order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
        size = max(1, PADDED_TOKENS // max(map(len, rows)))
        found = [read([rows[n] for n in order[k : k + size]]) for k in range(0, len(order), size)]
        return torch.cat(found)[torch.tensor(order).argsort()]

    def _padded(self, rows: Rows, **more: Any) -> Tensor:
        """What pads stands behind each row's last token, which doesn't see it: no mask is needed."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        logits = self.model(ids, **more).logits
        return logits[torch.arange(len(rows)), torch.tensor([len(row) - 1 for row in rows])]


def _agrees(way: Way, prefix: Sequence[int], rows: Rows, wanted: Tensor, near: float) -> bool:
    try:
        return float((way(prefix, rows) - wanted).abs().max()) <= near
    except Exception:  # noqa: BLE001 - a foreign model's way of saying that it can't do this
        return False


def _look_between_layers(model: Any) -> None:
    """Whether anybody still waits is looked up before each layer: one of a long text takes seconds."""
    for stack in model.modules():
        for layer in stack if isinstance(stack, nn.ModuleList) else ():
            layer.register_forward_pre_hook(lambda *_: look())


def _keep_rows(model: Any, candidates: Sequence[int]) -> None:
    """Only these rows of the output matrix; the model's own scaling of logits stays in place."""
    head = model.get_output_embeddings()
    rows = torch.tensor(candidates)
    bias = getattr(head, "bias", None)
    small = nn.Linear(head.weight.shape[1], len(rows), bias=bias is not None)
    small.weight = nn.Parameter(head.weight.detach()[rows].clone(), requires_grad=False)
    if bias is not None:
        small.bias = nn.Parameter(bias.detach()[rows].clone(), requires_grad=False)
    model.set_output_embeddings(small.eval())
