"""CHARX: a zip with `card.json` and the files it names; every file but the card is kept as it came."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping

CARD = "card.json"
MAX_FILES = 2_000
MAX_UNPACKED = 64 * 1024 * 1024
MAX_CARD = 16 * 1024 * 1024
# Whatever Python's zip reader raises for a damaged or unknown archive.
_BROKEN = (
    zipfile.BadZipFile, RuntimeError, OSError, ValueError, EOFError, NotImplementedError, zlib.error,
    lzma.LZMAError,
)  # fmt: skip


class BadCharx(ValueError):
    """No zip, no card in it, or more than fits."""


def read(packed: bytes) -> str:
    """The text of the card inside. BadCharx otherwise, also where another file cannot be read."""
    with _opened(packed) as archive:
        raw = _read(archive, CARD)
        for name in _names(archive):
            _read(archive, name)
    if len(raw) > MAX_CARD:
        raise BadCharx(f"{CARD} is larger than {MAX_CARD // 2**20} MiB.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadCharx("card.json is not UTF-8.") from None


def write(packed: bytes, card: str, more: Mapping[str, bytes] | None = None) -> bytes:
    """The same archive (b"" for a new one) with `card` as its card, and further files by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(CARD, card)
        names = {CARD}
        if packed:
            with _opened(packed) as archive:
                for info in archive.infolist():
                    if info.filename not in names and not info.is_dir():
                        made.writestr(info, _read(archive, info.filename))
                        names.add(info.filename)
        for name, data in (more or {}).items():
            if name not in names:
                made.writestr(name, data)
    return out.getvalue()


def files(packed: bytes) -> list[str]:
    """Names of the files inside, the card left out."""
    with _opened(packed) as archive:
        return [name for name in _names(archive) if name != CARD]


def file(packed: bytes, name: str) -> bytes:
    """One file of the archive. BadCharx when it is not there."""
    with _opened(packed) as archive:
        return _read(archive, name)


def _opened(packed: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(packed))
    except _BROKEN:
        raise BadCharx("This is not a CHARX archive.") from None
    infos = archive.infolist()
    if len(infos) > MAX_FILES or sum(info.file_size for info in infos) > MAX_UNPACKED:
        raise BadCharx(f"At most {MAX_FILES} files and {MAX_UNPACKED // 2**20} MiB unpacked are allowed.")
    return archive


def _names(archive: zipfile.ZipFile) -> list[str]:
    """Each name once: of doubled ones the last is read, whichever of them is asked for."""
    return list(dict.fromkeys(archive.namelist()))


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(name) as member:
            # What a header says of its size need not be true.
            data = member.read(MAX_UNPACKED + 1)
    except KeyError:
        raise BadCharx(f"The archive has no {name}.") from None
    except _BROKEN:
        raise BadCharx(f"{name} in the archive cannot be read.") from None
    if len(data) > MAX_UNPACKED:
        raise BadCharx(f"{name} in the archive is too large.")
    return data
