"""`make bench` knows every benchmark, and says what it leaves out and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import run

FOLDER = Path(run.__file__).parent
NOT_MEASURING = {"run", "flat_worker"}  # the list itself, and a worker that another benchmark starts


def test_every_module_that_can_be_started_is_listed_once():
    startable = {
        path.stem
        for path in FOLDER.glob("*.py")
        if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert sorted(startable - NOT_MEASURING) == sorted(run.NAMES)


def test_what_needs_a_language_model_is_left_out_without_one(monkeypatch, capfd, tmp_path):
    for named in (None, str(tmp_path / "missing.gguf")):
        monkeypatch.setenv("GGUF", named or "")
        assert run.main(["systemone_peers"]) == 0
        assert "left out: GGUF=FILE.gguf names no language model" in capfd.readouterr().out


def test_what_needs_a_package_is_left_out_without_it(monkeypatch, capfd):
    monkeypatch.setitem(run.NEEDS, "coherence", ("no_such_package",))
    assert run.main(["coherence"]) == 0
    assert "left out: not installed: no_such_package" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "more"),
    [("systemone", ["--lm"]), ("coherence", ["--lm"]), ("systemone_peers", []), ("idle", None)],
)
def test_a_named_language_model_is_handed_to_those_that_read_with_one(monkeypatch, tmp_path, name, more):
    file = tmp_path / "model.gguf"
    file.touch()
    monkeypatch.setenv("GGUF", str(file))
    handed = [] if more is None else [*more, str(file)]
    assert run.command(name)[2:] == [f"bench.{name}", *handed]


def test_a_name_nobody_knows_is_a_failure(capfd):
    assert run.main(["nonsense"]) == 1
    assert "known are recall" in capfd.readouterr().out
