"""Many continuations of one text as one row of tokens: common beginnings stand once, none sees another.

The row is a tree written flat. A token attends to the text before it and to its own branch, and its position
is that in its branch, so every continuation is read as if it stood alone, without padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packed:
    """`ids` and `places` (position in the branch, from 0) of n tokens; `sees` (n, n) is true where a token
    attends; `ends` has the index of each row's last token, in the order the rows were given in."""

    ids: Tensor
    places: Tensor
    sees: Tensor
    ends: Tensor


def pack(rows: Sequence[Sequence[int]]) -> Packed:
    """The rows (none empty) as one tree."""
    ids: list[int] = []
    places: list[int] = []
    ends = [0] * len(rows)
    branches: list[tuple[int, list[int]]] = []
    before: Sequence[int] = ()
    branch: list[int] = []
    for n in sorted(range(len(rows)), key=lambda n: list(rows[n])):
        row = rows[n]
        kept = common(before, row)
        branch = [*branch[:kept], *range(len(ids), len(ids) + len(row) - kept)]
        ids += row[kept:]
        places += range(kept, len(row))
        ends[n] = branch[-1]
        branches.append((kept, branch))
        before = row
    sees = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    for kept, branch in branches:
        at = torch.tensor(branch)
        sees[at[kept:, None], at] = torch.ones(len(at), len(at), dtype=torch.bool).tril()[kept:]
    return Packed(torch.tensor(ids), torch.tensor(places), sees, torch.tensor(ends))


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two rows have in common at their start."""
    for n, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return n
    return min(len(a), len(b))


def parts(rows: Sequence[Sequence[int]], budget: int) -> list[list[int]]:
    """Indices of rows, like beside like, cut where their tokens pass the budget (one row may)."""
    order = sorted(range(len(rows)), key=lambda n: list(rows[n]))
    found: list[list[int]] = []
    size = 0
    for n in order:
        if found:
            size += len(rows[n]) - common(rows[found[-1][-1]], rows[n])
        if not found or size > budget:
            found.append([])
            size = len(rows[n])
        found[-1].append(n)
    return found
