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
def wheels(*requirements: str, **environ: str) -> Iterator[Path]:
    """A folder with a wheel of each, built from source with these variables unless it lies there already.

    CalledProcessError when pip fails.
    """
    with tempfile.TemporaryDirectory(prefix="synth-wheels-") as gone:
        folder = Path(os.environ.get(KEPT) or gone) / "wheels"
        folder.mkdir(parents=True, exist_ok=True)
        for requirement in requirements:
            name = requirement.replace("-", "_").replace("==", "-")
            if not list(folder.glob(f"{name}-*.whl")):
                print(f"building {requirement} …", flush=True)
                pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-cache-dir"]
                pip += ["--no-binary", requirement.split("==")[0], "--wheel-dir", str(folder), requirement]
                subprocess.run(pip, check=True, env={**os.environ, **environ})
        yield folder


@contextmanager
def environment(name: str, *requirements: str, built: Path | None = None) -> Iterator[Path]:
    """The Python of an environment of its own with these packages; those with a wheel in `built` from there.

    CalledProcessError when pip fails.
    """
    with tempfile.TemporaryDirectory(prefix="synth-peers-") as gone:
        folder = Path(os.environ.get(KEPT) or gone) / name
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            print(f"installing {', '.join(requirements)} …", flush=True)
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            pip += ["--find-links", str(built), "--prefer-binary"] if built else []
            subprocess.run([*pip, *requirements], check=True)
            (folder / "complete").touch()
        yield python
