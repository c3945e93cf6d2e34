"""Zstandard bodies unpacked under a cap, with the standard library's module or its backport."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZstdError = zstd.ZstdError
# 8 MiB: what every decoder must take; a frame that wants more memory is refused.
_OPTIONS: dict[Any, int] = {zstd.DecompressionParameter.window_log_max: 23}
# Each one's rest is copied for the next: a body of empty ones would take minutes.
MAX_MEMBERS = 100


def unpack_zstd(raw: bytes, cap: int) -> bytes:
    """At most `cap` + 1 bytes of the frames in `raw`. ZstdError when they are cut, none or too many."""
    found = bytearray()
    for _ in range(MAX_MEMBERS):
        unpacker = zstd.ZstdDecompressor(options=_OPTIONS)
        found += unpacker.decompress(raw, cap + 1 - len(found))
        if len(found) > cap:
            return bytes(found)
        if not unpacker.eof:
            raise ZstdError("the frame is cut")
        raw = unpacker.unused_data
        if not raw:
            return bytes(found)
    raise ZstdError("too many frames")
