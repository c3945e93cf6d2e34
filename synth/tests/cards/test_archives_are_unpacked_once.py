"""A CHARX is unpacked once, however often a name stands in it."""

from __future__ import annotations

import io
import json
import time
import zipfile

import pytest

from synth.cards import charx

CARD = json.dumps({"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": "Ada"}})
PICTURE = "assets/a.png"


def doubled(n: int, last: bytes) -> bytes:
    """An archive with `n` empty files and one more, all of one name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(charx.CARD, CARD)
        for data in [b""] * n + [last]:
            made.writestr(PICTURE, data)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_small_archive_with_one_name_many_times_is_no_bomb():
    packed = doubled(1_500, bytes(60 * 2**20))
    assert len(packed) < 400_000
    started = time.perf_counter()
    assert charx.read(packed) == CARD
    assert time.perf_counter() - started < 10  # read again for each of them it took minutes
    assert charx.files(packed) == [PICTURE]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_doubled_names_the_last_file_counts_and_is_written_once():
    packed = charx.write(doubled(2, b"the last"), CARD)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.namelist() == [charx.CARD, PICTURE]
        assert archive.read(PICTURE) == b"the last"
