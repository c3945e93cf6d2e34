"""A clean interpreter that imports every module outside ml has neither torch nor transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import importlib, pathlib, sys
import django
django.setup()
root = pathlib.Path(sys.argv[1])
n = 0
for app in ("synth", "judgments", "reminders", "gifts", "growth", "decider"):
    for path in sorted((root / app).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if {"tests", "testing", "ml", "migrations", "data"} & set(parts) or "__main__" in parts:
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        importlib.import_module(name)
        n += 1
from django.urls import get_resolver
get_resolver().url_patterns
heavy = sorted({"torch", "transformers"} & set(sys.modules))
assert not heavy, heavy
print(n)
"""


def test_no_url_view_task_admin_or_service_module_imports_torch():
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(ROOT)],
        env=os.environ | {"PYTHONPATH": path, "LOG_LEVEL": "warning"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout.split()[-1]) > 40


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_torch_import_would_be_seen(name, monkeypatch):
    from synth import checks

    monkeypatch.setitem(sys.modules, name, object())
    assert [message.id for message in checks.light_start()] == ["synth.E009"]
