"""How much memory this machine offers to models, and the tier that follows from it."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path

from synth.inference.tiers import Tier, pick

FORCED = "SYNTH_FORCE_TIER"


def has_torch() -> bool:
    """Whether torch is installed; found without importing it."""
    return importlib.util.find_spec("torch") is not None


def device_free_mib() -> int | None:
    """Free memory of the accelerator, None without one. Imports torch: only for the torch process."""
    if not has_torch():
        return None
    found: int | None = importlib.import_module("synth.inference.ml.device").free_mib()
    return found


def ram_free_mib() -> int | None:
    """Memory this machine could give without swapping; None where the kernel doesn't say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return None


def tier() -> Tier:
    """This machine's tier; `SYNTH_FORCE_TIER` wins, for tests."""
    forced = os.environ.get(FORCED, "")
    return pick(None if forced else device_free_mib(), forced=forced)
