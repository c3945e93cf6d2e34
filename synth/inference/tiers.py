"""Free memory of the device → tier: which precision, how many models stay, what may run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth.inference.wire import PRIORITIES

CONTEXT_MIB = 600  # what a CUDA context and its libraries take before the first tensor


@dataclass(frozen=True)
class Tier:
    """One size of device. `resident` models stay loaded; larger ones are loaded for each use."""

    name: str
    dtype: str
    least_mib: int
    resident: int


TIERS = (
    Tier("gpu-large", "bfloat16", 20_000, 8),
    Tier("gpu-medium", "bfloat16", 7_000, 4),
    Tier("gpu-small", "bfloat16", 1_500, 2),
    Tier("cpu", "float32", 0, 4),
)
NAMES = tuple(tier.name for tier in TIERS)


class DoesNotFit(ValueError):
    """A model that needs more memory than there is."""


def pick(free_mib: int | None, *, forced: str = "") -> Tier:
    """The tier of a device with that much free memory; None: no device. ValueError for a bad name."""
    if forced:
        for tier in TIERS:
            if tier.name == forced:
                return tier
        raise ValueError(f"no tier {forced!r}; known are {', '.join(NAMES)}")
    if free_mib is None:
        return TIERS[-1]
    usable = free_mib - CONTEXT_MIB
    return next((tier for tier in TIERS[:-1] if usable >= tier.least_mib), TIERS[-1])


@dataclass(frozen=True)
class Loaded:
    """A model in memory: its size, when it was last used (any clock), and the priority of that use."""

    mib: int
    used_at: float
    priority: str = "IMPORTANT"


def check_fit(name: str, needs_mib: int, free_mib: int) -> None:
    """DoesNotFit, with the numbers, when a load would not fit."""
    if needs_mib > free_mib:
        raise DoesNotFit(f"{name} needs {needs_mib} MiB; {free_mib} MiB are free")


def check_place(name: str, n_loaded: int, resident: int) -> None:
    """DoesNotFit when as many models stay loaded as may be."""
    if n_loaded >= resident:
        raise DoesNotFit(f"{name} has no place: {n_loaded} models in use are loaded, {resident} may be")


def to_unload(
    loaded: Mapping[str, Loaded],
    needs_mib: int,
    free_mib: int,
    *,
    resident: int | None = None,
    priority: str = "IMPORTANT",
) -> list[str]:
    """Which models to unload, least recently used first, until `needs_mib` fit and there is a place.

    At most `resident` models are loaded at a time, the new one among them. A NICE load takes no model's place
    that was last used for something that matters more; other loads take any.
    """
    rank = PRIORITIES.index
    may_go = [
        name
        for name, one in sorted(loaded.items(), key=lambda item: item[1].used_at)
        if priority != "NICE" or rank(one.priority) >= rank(priority)
    ]
    n_left = len(loaded)
    found: list[str] = []
    for name in may_go:
        if free_mib >= needs_mib and (resident is None or n_left < resident):
            break
        found.append(name)
        free_mib += loaded[name].mib
        n_left -= 1
    return found
