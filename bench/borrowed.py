"""Other people's programs for a side-by-side run: installed by name, into a folder that goes again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT = "BENCH_PEERS"  # a folder to keep what was installed in; a build of llama.cpp takes ten minutes


@contextmanager
def environment(name: str, *requirements: str) -> Iterator[Path]:
    """The Python of an environment of its own with these packages. CalledProcessError when pip fails."""
    with tempfile.TemporaryDirectory(prefix="synth-peers-") as gone:
        folder = Path(os.environ.get(KEPT) or gone) / name
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            print(f"installing {', '.join(requirements)} …", flush=True)
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *requirements], check=True)
            (folder / "complete").touch()
        yield python
