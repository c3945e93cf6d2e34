"""The backup file: a tar (plain or gzip) of table pieces, keys and, last, a manifest with every checksum.

Members: `tables/NAME/00001` … (PostgreSQL's COPY text, cut into pieces of at most 8 MiB), `keys/NAME`,
`manifest.json`, `manifest.sha256`. The manifest comes last, so a file that was cut off has none.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
PIECE_BYTES = 8 * 1024 * 1024
_TRIES = 20
MANIFEST, MANIFEST_SUM = "manifest.json", "manifest.sha256"


class BadBackup(Exception):
    """The file cannot be used; the message says why in one line."""


@dataclass
class Member:
    """One entry of the tar."""

    name: str
    sha256: str
    n_bytes: int


@dataclass
class Table:
    """One table: the columns in the order of its rows, the pieces in order."""

    name: str
    columns: list[str]
    n_rows: int = 0
    pieces: list[Member] = field(default_factory=list)


@dataclass
class Manifest:
    """What the file holds. `migrations`: the last applied of each app; `sequences`: `[value, called]`."""

    format: int
    version: str
    at: str
    server: str
    epoch: str
    migrations: dict[str, list[str]]
    tables: list[Table] = field(default_factory=list)
    sequences: dict[str, tuple[int, bool]] = field(default_factory=dict)
    keys: list[Member] = field(default_factory=list)

    def members(self) -> dict[str, Member]:
        """Every member but the manifest itself, by name."""
        return {m.name: m for m in [piece for table in self.tables for piece in table.pieces] + self.keys}

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode()


def decode(raw: bytes) -> Manifest:
    """A manifest from JSON; BadBackup for a newer format or another shape."""
    try:
        data: dict[str, Any] = json.loads(raw)
        if int(data["format"]) > FORMAT:
            raise BadBackup(f"this backup has format {data['format']}; this version reads up to {FORMAT}")
        data["tables"] = [
            Table(**{**table, "pieces": [Member(**piece) for piece in table["pieces"]]})
            for table in data["tables"]
        ]
        data["keys"] = [Member(**key) for key in data["keys"]]
        data["sequences"] = {
            name: (int(value), bool(called)) for name, (value, called) in data["sequences"].items()
        }
        return Manifest(**data)
    except (ValueError, KeyError, TypeError) as error:
        raise BadBackup(f"the manifest cannot be read: {error}") from error


class Writer:
    """Adds members to a new file; the caller writes the manifest last with `close`."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar

    def add(self, name: str, data: bytes) -> Member:
        """Add one member."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o600
        self.tar.addfile(info, io.BytesIO(data))
        return Member(name, hashlib.sha256(data).hexdigest(), len(data))

    def add_table(self, table: Table, blocks: Iterable[bytes]) -> None:
        """Add the rows of a table as they come; only one piece is held in memory."""
        pending = bytearray()
        for block in blocks:
            pending += block
            table.n_rows += bytes(block).count(b"\n")  # COPY text escapes line ends inside values
            while len(pending) >= PIECE_BYTES:
                self._piece(table, bytes(pending[:PIECE_BYTES]))
                del pending[:PIECE_BYTES]
        if pending:
            self._piece(table, bytes(pending))

    def _piece(self, table: Table, data: bytes) -> None:
        table.pieces.append(self.add(f"tables/{table.name}/{len(table.pieces) + 1:05}", data))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and its checksum."""
        raw = manifest.encode()
        member = self.add(MANIFEST, raw)
        self.add(MANIFEST_SUM, member.sha256.encode())


def is_gzip(path: Path) -> bool:
    """Whether the name asks for gzip; BadBackup for a name that is neither .tar nor .tar.gz."""
    if path.name.endswith((".tar.gz", ".tgz")):
        return True
    if path.name.endswith(".tar"):
        return False
    raise BadBackup("the file must be named .tar or .tar.gz")


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A 0600 file that appears under `path` complete and on disk, or not at all."""
    zipped = is_gzip(path)
    temporary = path.with_name(path.name + ".tmp")
    handle = _only_writer(temporary)
    with os.fdopen(handle, "wb") as file:
        try:
            if zipped:
                with (
                    gzip.GzipFile("", "wb", 5, file) as packed,
                    tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
                ):
                    yield Writer(tar)
            else:
                with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                    yield Writer(tar)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _only_writer(temporary: Path) -> int:
    """A new locked file, in place of what a killed writer left. BadBackup while another writes."""
    for _ in range(_TRIES):
        try:
            new = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            _clear_away(temporary)
            continue
        # Another may have taken it for a left one before the lock was ours.
        if not _is_locked(new) and _is_at(new, temporary):
            return new
        os.close(new)
    raise _is_busy(temporary)


def _clear_away(temporary: Path) -> None:
    """Unlink what a killed writer left, or somebody else. BadBackup while its writer lives."""
    try:
        left = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        if _is_locked(left):
            raise _is_busy(temporary)
        # Who holds the lock of what lies there is the only one to take it away.
        if _is_at(left, temporary):
            temporary.unlink()
    finally:
        os.close(left)


def _is_busy(temporary: Path) -> BadBackup:
    return BadBackup(f"another backup is being written to {temporary.name[: -len('.tmp')]}")


def _is_locked(handle: int) -> bool:
    """Whether another process has the file's lock; else it is ours, where the file system knows locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents in the order of the file, one at a time; nothing is unpacked to disk."""
    try:
        with tarfile.open(path, "r|*") as tar:
            for info in tar:
                source = tar.extractfile(info) if info.isreg() and info.size <= 64 * PIECE_BYTES else None
                if source is None:
                    raise BadBackup(f"unexpected member {info.name!r}")
                yield info.name, source.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise BadBackup(f"{path} is no backup, or is damaged: {error}") from error


def verify(path: Path) -> Manifest:
    """The manifest, after every byte of the file was read and fits its checksum; BadBackup otherwise."""
    seen: dict[str, Member] = {}
    kept: dict[str, bytes] = {}
    for name, data in members(path):
        if name in seen:
            raise BadBackup(f"member {name} is there twice")
        seen[name] = Member(name, hashlib.sha256(data).hexdigest(), len(data))
        if name in (MANIFEST, MANIFEST_SUM):
            kept[name] = data
    if MANIFEST not in kept or kept.get(MANIFEST_SUM) != seen[MANIFEST].sha256.encode():
        raise BadBackup("the manifest is missing or damaged: the file is incomplete")
    manifest = decode(kept[MANIFEST])
    del seen[MANIFEST], seen[MANIFEST_SUM]
    expected = manifest.members()
    for name in sorted(seen.keys() | expected.keys()):
        if seen.get(name) != expected.get(name):
            raise BadBackup(f"checksum of {name} does not fit" if name in seen else f"{name} is missing")
    return manifest
