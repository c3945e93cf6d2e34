"""`manage.py models` shows the heads and the language model that is named, and says what is wrong."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judgments import heads
from synth.inference import probe, specs


def tensors(n_bytes):
    """A file of one tensor that takes so many bytes."""
    table = json.dumps({"w": {"dtype": "U8", "shape": [n_bytes], "data_offsets": [0, n_bytes]}}).encode()
    return len(table).to_bytes(8, "little") + table + b"x" * n_bytes


def shown(*args):
    out = StringIO()
    call_command("models", *args, stdout=out)
    return out.getvalue()


def test_each_head_is_shown_with_its_version_and_what_was_measured():
    text = shown()
    assert len(heads.shipped()) >= 6
    for family, data in heads.shipped().items():
        assert f"synth-{family}: " in text and heads.version_of(data) in text
    assert "right on rows nobody trained on" in text and "SYSTEM_ONE_LM" not in text


def test_a_head_that_is_broken_fails_the_check(monkeypatch):
    monkeypatch.setattr(probe, "has_torch", lambda: True)
    monkeypatch.setattr(specs, "picked", lambda: specs.Spec("x", "p", "pip", "pip", "__init__.py", "MIT", 1))
    shown("--check")
    monkeypatch.setattr(heads, "shipped", lambda: {"weather.rain": b"12345678nonsense"})
    with pytest.raises(CommandError, match="can serve"):
        shown("--check")
    assert "synth-weather.rain" in shown() and "broken" in shown()


def test_the_language_model_is_looked_for_where_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path / "nothing"))
    assert "no .gguf file and no folder with weights" in shown()
    (tmp_path / "model.safetensors").write_bytes(tensors(3 * 2**20))
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path))
    assert f"{tmp_path}, 3 MiB on disk" in shown()
    (tmp_path / "model.gguf").write_bytes(b"GGUF".ljust(2**20))
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path / "model.gguf"))
    assert "1 MiB on disk" in shown()


@pytest.mark.parametrize(
    "name, said", [("model.txt", "no .gguf file"), ("model.gguf", "broken, it does not")]
)
def test_a_file_that_is_no_language_model_fails_the_check(monkeypatch, tmp_path, name, said):
    monkeypatch.setattr(probe, "has_torch", lambda: True)
    monkeypatch.setattr(specs, "picked", lambda: specs.Spec("x", "p", "pip", "pip", "__init__.py", "MIT", 1))
    (tmp_path / name).write_bytes(b"what was downloaded was a page of HTML")
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path / name))
    assert said in shown()
    with pytest.raises(CommandError, match="can serve"):
        shown("--check")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"12",
        tensors(2**20)[:-1],
        tensors(2**20) + b"x",
        b"\xff" * 8 + b"{}",
        tensors(9)[:20],
        b"GGUF" * 99,
    ],
)
def test_weights_that_were_cut_fail_the_check(monkeypatch, tmp_path, data):
    (tmp_path / "a.safetensors").write_bytes(tensors(10))
    (tmp_path / "b.safetensors").write_bytes(data)
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path))
    assert "broken, b.safetensors was cut" in shown()
    with pytest.raises(CommandError, match="can serve"):
        shown("--check")


def test_weights_of_which_a_part_is_missing_fail_the_check(monkeypatch, tmp_path):
    parts = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    index = {"weight_map": dict(zip("ab", parts, strict=True))}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for part in parts:
        (tmp_path / part).write_bytes(tensors(10))
    monkeypatch.setenv("SYSTEM_ONE_LM", str(tmp_path))
    assert "broken" not in shown()
    (tmp_path / parts[1]).unlink()
    assert f"broken, {parts[1]} is missing" in shown()
    with pytest.raises(CommandError, match="can serve"):
        shown("--check")
