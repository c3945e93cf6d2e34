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


MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
MIB = 1024 * 1024


def ram_free_mib() -> int | None:
    """Memory this process could take without swapping, within its container; None where nobody says."""
    found = [free for free in (_machine_free_mib(), cgroup_free_mib(CGROUP)) if free is not None]
    return min(found) if found else None


def _machine_free_mib() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return None


def cgroup_free_mib(folder: Path) -> int | None:
    """What the container may still take, pages of files given back; None without a limit."""
    try:
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return max(0, limit - used + int(counts.get("inactive_file", 0))) // MIB


def free_mib() -> int | None:
    """What a model may take now: of the accelerator where there is one, else of the machine."""
    found = device_free_mib()
    return ram_free_mib() if found is None else found


def tier() -> Tier:
    """This machine's tier; `SYNTH_FORCE_TIER` wins, for tests."""
    forced = os.environ.get(FORCED, "")
    return pick(None if forced else device_free_mib(), forced=forced)
