"""Free memory of the accelerator, as torch sees it."""

from __future__ import annotations

import torch

MIB = 1024 * 1024


def free_mib() -> int | None:
    """Free memory in MiB, None without an accelerator. Never asks a CPU build, which raises."""
    if not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    return int(free) // MIB
