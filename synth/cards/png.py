"""The card in a PNG: base64 in text chunks, `ccv3` before `chara`. Every other chunk stays as it came."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORDS = ("ccv3", "chara")
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_MAX_UNPACKED = 16 * 1024 * 1024


class BadPng(ValueError):
    """Not a PNG, or a broken one."""


@dataclass(frozen=True)
class _Chunk:
    kind: bytes
    data: bytes
    raw: bytes


def read(png: bytes) -> dict[str, str]:
    """The card texts by keyword. BadPng for a broken file, or where no card is base64 of UTF-8 text."""
    found: dict[str, str] = {}
    broken: dict[str, BadPng] = {}
    for chunk in _chunks(png):
        keyword, rest = _keyword(chunk)
        # Of doubled ones the first counts. The others are not even unpacked: each could be a bomb.
        if keyword in KEYWORDS and keyword not in found and keyword not in broken:
            try:
                found[keyword] = _decoded(_text(chunk.kind, rest))
            except BadPng as error:
                broken[keyword] = error  # the other one may be whole
    if broken and not any(found.values()):
        raise next(iter(broken.values()))
    return found


def write(png: bytes, texts: dict[str, str]) -> bytes:
    """The same picture with these cards in place of any it carried."""
    parts = [SIGNATURE]
    for chunk in _chunks(png):
        if chunk.kind == b"IEND":
            for keyword in KEYWORDS:
                if keyword in texts:
                    packed = base64.b64encode(texts[keyword].encode())
                    parts.append(_made(b"tEXt", keyword.encode() + b"\x00" + packed))
        if _keyword(chunk)[0] not in KEYWORDS:
            parts.append(chunk.raw)
    return b"".join(parts)


def is_whole(data: bytes) -> bool:
    """Whether it is a PNG with nothing broken in its chunks."""
    try:
        return sum(1 for _ in _chunks(data)) > 0
    except BadPng:
        return False


def plain(seed: bytes, width: int = 256, height: int = 384) -> bytes:
    """A picture for an agent that has none: one colour, taken from `seed`."""
    digest = zlib.crc32(seed)
    row = b"\x00" + bytes(80 + ((digest >> shift) & 0x7F) for shift in (0, 8, 16)) * width
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = _made(b"IHDR", head) + _made(b"IDAT", zlib.compress(row * height)) + _made(b"IEND", b"")
    return SIGNATURE + body


def _chunks(png: bytes) -> Iterator[_Chunk]:
    if not png.startswith(SIGNATURE):
        raise BadPng("This is not a PNG.")
    at, is_first = len(SIGNATURE), True
    while at < len(png):
        if at + 8 > len(png):
            raise BadPng("The PNG is cut off.")
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        end = at + 12 + size
        if end > len(png):
            raise BadPng("The PNG is cut off.")
        data = png[at + 8 : at + 8 + size]
        (crc,) = struct.unpack(">I", png[end - 4 : end])
        if crc != zlib.crc32(kind + data):
            raise BadPng("The PNG is damaged: a checksum is wrong.")
        if is_first and kind != b"IHDR":
            raise BadPng("The PNG has no header.")
        yield _Chunk(kind, data, png[at:end])
        if kind == b"IEND":
            return
        at, is_first = end, False
    raise BadPng("The PNG is cut off.")


def _keyword(chunk: _Chunk) -> tuple[str, bytes]:
    """Keyword of a text chunk and what follows it; blanks for any other chunk."""
    if chunk.kind not in _TEXTS:
        return "", b""
    raw_keyword, _, rest = chunk.data.partition(b"\x00")
    return raw_keyword.decode("latin-1").lower(), rest


def _text(kind: bytes, rest: bytes) -> bytes:
    """The text of a text chunk, unpacked."""
    if kind == b"tEXt":
        return rest
    if kind == b"zTXt":
        return _unpacked(rest[1:])
    is_packed, after = rest[:1] == b"\x01", rest[2:]
    _language, _, after = after.partition(b"\x00")
    _translated, _, text = after.partition(b"\x00")
    return _unpacked(text) if is_packed else text


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _MAX_UNPACKED)
    except zlib.error:
        raise BadPng("A packed text in the PNG is damaged.") from None
    if unpacker.unconsumed_tail:
        raise BadPng("A packed text in the PNG is too large.")
    return text


def _decoded(text: bytes) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8-sig")
    except (binascii.Error, UnicodeDecodeError):
        raise BadPng("The card in the PNG is not base64 of UTF-8 text.") from None


def _made(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
