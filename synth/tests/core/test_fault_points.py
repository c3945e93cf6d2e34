"""Every declared fault point is used, every used one is declared, and one that nobody knows is refused."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth import faults

ROOT = Path(__file__).resolve().parents[3]
APPS = ("synth", "judgments", "reminders", "gifts", "growth", "decider")


def calls(verb: str) -> Iterator[tuple[str, str]]:
    """(name, file) of every `faults.<verb>("name")` in the code of the apps; a computed name is an error."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "tests" in path.parts or path.name == "faults.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or ast.unparse(node.func) != f"faults.{verb}":
                    continue
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{path}:{node.lineno}: the name must be literal"
                yield str(name.value), str(path.relative_to(ROOT))


def test_what_is_declared_is_used_and_what_is_used_is_declared():
    declared, used = dict(calls("declare")), dict(calls("point"))
    assert set(declared) == set(used)
    assert set(declared) >= {"outbox.claim.after", "outbox.handled.before", "outbox.handled.after"}


def test_a_point_nobody_declared_is_an_error():
    with pytest.raises(LookupError, match="not declared"):
        faults.point("nowhere.at_all")


def test_a_point_does_nothing_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setitem(faults.KNOWN, "test.point", "test")
    monkeypatch.setattr(os, "kill", lambda *args: pytest.fail("killed"))
    faults.point("test.point")
    monkeypatch.setenv("SYNTH_FAULT", "outbox.claim.after")
    faults.point("test.point")


def test_a_count_lets_passes_go(monkeypatch):
    killed = []
    monkeypatch.setitem(faults.KNOWN, "test.point", "test")
    monkeypatch.setattr(faults, "_passes", {})
    monkeypatch.setattr(os, "kill", lambda *args: killed.append(args))
    monkeypatch.setenv("SYNTH_FAULT", "test.point:3")
    faults.point("test.point")
    faults.point("test.point")
    assert killed == []
    faults.point("test.point")
    assert len(killed) == 1


@pytest.mark.parametrize("text", ["nowhere", *(f"outbox.claim.after:{n}" for n in ("0", "x", "-1", "1.5"))])
def test_a_value_that_names_no_point_is_refused(text):
    with pytest.raises(faults.UnknownFault):
        faults.check(text)


def test_a_name_is_declared_once(monkeypatch):
    monkeypatch.setattr(faults, "KNOWN", {"outbox.claim.after": "first"})
    with pytest.raises(ValueError, match="twice"):
        faults.declare("outbox.claim.after", "again")
