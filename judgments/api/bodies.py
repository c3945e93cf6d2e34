"""Request bodies of the System One server: content encodings taken off under a cap, multipart unpacked."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from judgments import wire, wire_errors
from judgments.api.zstd import MAX_MEMBERS, ZstdError, unpack_zstd

MAX_CODINGS = 2
PART = "request"
_GZIP = zlib.MAX_WBITS | 16


def read(request: HttpRequest) -> Any:
    """The JSON value of the body. WireError 400, 413, 415 or 422 says what is wrong with it."""
    raw = decode(_raw(request), request.headers.get("Content-Encoding", ""), limit())
    content_type = request.headers.get("Content-Type", "")
    if content_type.lower().startswith("multipart/"):
        raw = _part(request, raw, content_type)
    return wire.read_body(raw)


def limit() -> int:
    """Most bytes of a body, before and after decoding."""
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _raw(request: HttpRequest) -> bytes:
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if declared.isdigit() and int(declared) > limit():
        raise wire_errors.too_large(limit())
    try:
        raw = request.read(limit() + 1)
    except OSError:
        raise wire_errors.corrupt("HTTP") from None
    if len(raw) > limit():
        raise wire_errors.too_large(limit())
    return raw


def decode(raw: bytes, encodings: str, cap: int) -> bytes:
    """The bytes without their content encodings (gzip and zstd). WireError 400 corrupt, 413, 415 unknown."""
    codings = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    codings = [name for name in codings if name != "identity"]
    for name in codings:
        if name not in _DECODERS:
            raise wire_errors.unsupported(f"content encoding {name}")
    if len(codings) > MAX_CODINGS:
        raise wire_errors.unsupported("so many content encodings")
    for name in reversed(codings):
        raw = _DECODERS[name](raw, cap)
        if len(raw) > cap:
            raise wire_errors.too_large(cap)
    return raw


def _gunzip(raw: bytes, cap: int) -> bytes:
    """At most `cap` + 1 bytes; members one after another are one body."""
    found = bytearray()
    for _ in range(MAX_MEMBERS):
        unpacker = zlib.decompressobj(_GZIP)
        try:
            found += unpacker.decompress(raw, cap + 1 - len(found))
        except zlib.error:
            raise wire_errors.corrupt("gzip") from None
        if len(found) > cap:
            return bytes(found)
        if not unpacker.eof:
            raise wire_errors.corrupt("gzip")
        raw = unpacker.unused_data
        if not raw.strip(b"\0"):
            return bytes(found)
    raise wire_errors.corrupt("gzip")


def _unzstd(raw: bytes, cap: int) -> bytes:
    try:
        return unpack_zstd(raw, cap)
    except ZstdError:
        raise wire_errors.corrupt("zstd") from None


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {"gzip": _gunzip, "x-gzip": _gunzip, "zstd": _unzstd}


def _part(request: HttpRequest, raw: bytes, content_type: str) -> bytes:
    """The JSON part of a multipart body; its images are refused with the `assets` that name them."""
    meta = {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": len(raw)}
    try:
        fields, files = MultiPartParser(meta, BytesIO(raw), [MemoryFileUploadHandler(request)]).parse()
    except (RequestDataTooBig, SuspiciousOperation):
        raise wire_errors.too_large(limit()) from None
    except (MultiPartParserError, ValueError, LookupError):
        raise wire_errors.corrupt("multipart/form-data") from None
    value = fields.get(PART)
    if value is not None:
        return str(value).encode("utf-8", "surrogatepass")
    file: Any = files.get(PART)
    if file is not None:
        return bytes(file.read())
    raise wire_errors.invalid([wire_errors.detail([PART], "Field required", "missing")])
