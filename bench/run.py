"""Runs every benchmark, each in a process and on private stores of its own, and prints their tables.

`python -m bench.run [NAME …]`; all when none is named. Exit status 1 when one of them failed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec

NAMES = ("recall", "prompt_assembly", "cycle", "idle", "systemone", "connections", "streams", "chat")


def run(name: str) -> bool:
    """One benchmark; False when it failed or does not exist."""
    if find_spec(f"bench.{name}") is None:
        print(f"{name}: there is no such benchmark; known are {', '.join(NAMES)}")
        return False
    print(f"\n== {name}", flush=True)
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False)
    print(
        f"-- {name}: {'done' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s",
        flush=True,
    )
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Run them in order, also after a failure."""
    return 0 if all([run(name) for name in names or NAMES]) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
