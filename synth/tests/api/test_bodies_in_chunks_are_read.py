"""A body sent in chunks, without a length, is a body like any other."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.conf import LazySettings

from synth.api.chunked import with_length


def answer(raw: bytes, **environ: Any) -> tuple[str, bytes]:
    """What the application behind sees: the length and the body."""
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        seen.update(environ)
        return iter(())

    with_length(application)({"wsgi.input": BytesIO(raw), **environ}, None)
    return seen.get("CONTENT_LENGTH", ""), seen["wsgi.input"].read()


def test_a_chunked_body_gets_its_length() -> None:
    assert answer(b'{"a": 1}', HTTP_TRANSFER_ENCODING="Chunked") == ("8", b'{"a": 1}')


def test_a_body_with_a_length_is_left_alone() -> None:
    assert answer(b"abc", CONTENT_LENGTH="3") == ("3", b"abc")


def test_a_body_without_either_stays_as_it_is() -> None:
    assert answer(b"abc") == ("", b"abc")


def test_an_upload_in_chunks_may_be_larger(settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 9
    found = answer(b"x" * 1000, HTTP_TRANSFER_ENCODING="chunked", PATH_INFO="/api/agents/import/")
    assert found == ("1000", b"x" * 1000)


@pytest.mark.parametrize("size", [10, 1000])
def test_no_more_than_one_byte_past_the_limit_is_read(settings: LazySettings, size: int) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 9
    assert answer(b"x" * size, HTTP_TRANSFER_ENCODING="chunked") == ("10", b"x" * 10)
