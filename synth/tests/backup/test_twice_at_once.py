"""Two backups under one name at the same time: the second is refused, the first is not harmed."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from django.conf import settings

from synth.backup import archive

HOLD = """
import sys
from pathlib import Path
from synth.backup import archive
with archive.writing(Path(sys.argv[1])) as writer:
    writer.add("x", b"1" * 100_000)
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process in the middle of writing `synth.tar`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "synth.tar")]
    process = subprocess.Popen(
        command, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_writer_of_one_name_is_refused_and_the_first_finishes(tmp_path, other):
    file = tmp_path / "synth.tar"
    with pytest.raises(archive.BadBackup, match="another backup"), archive.writing(file):
        pass
    assert not file.exists()
    other.communicate("go on\n", timeout=30)
    assert other.returncode == 0
    assert dict(archive.members(file)) == {"x": b"1" * 100_000}


def test_what_a_killed_writer_left_makes_way(tmp_path, other):
    other.kill()
    other.wait()
    assert (tmp_path / "synth.tar.tmp").exists()
    with archive.writing(tmp_path / "synth.tar") as writer:
        writer.add("y", b"2")
    assert dict(archive.members(tmp_path / "synth.tar")) == {"y": b"2"}
    assert os.listdir(tmp_path) == ["synth.tar"]


def test_what_lies_there_is_not_written_into(tmp_path):
    """A name of another file, or a file that somebody planted and holds open: a backup holds every secret."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    os.link(precious, tmp_path / "synth.tar.tmp")
    with precious.open("rb") as held:
        with archive.writing(tmp_path / "synth.tar") as writer:
            writer.add("y", b"2")
        assert held.read() == b"mine"
    assert dict(archive.members(tmp_path / "synth.tar")) == {"y": b"2"}
    assert (tmp_path / "synth.tar").stat().st_nlink == 1


def test_of_many_writers_one_writes(tmp_path):
    (tmp_path / "synth.tar.tmp").write_bytes(b"left")
    gate = threading.Barrier(8)
    written: list[int] = []

    def write():
        gate.wait()
        with suppress(archive.BadBackup), archive.writing(tmp_path / "synth.tar") as writer:
            writer.add("x", b"1" * 100_000)
            written.append(len(written))
            time.sleep(1)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == [0]
    assert dict(archive.members(tmp_path / "synth.tar")) == {"x": b"1" * 100_000}
    assert os.listdir(tmp_path) == ["synth.tar"]


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), archive.writing(tmp_path / "synth.tar") as writer:
        writer.add("y", b"2")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
