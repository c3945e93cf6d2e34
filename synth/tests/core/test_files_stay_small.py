"""No file grows past 400 lines and no function past 60; migrations and generated files aside."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("synth", "judgments", "reminders", "gifts", "growth", "decider", "bench")
MAX_FILE, MAX_FUNCTION = 400, 60
PATHS = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts and "generated" not in path.name
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_and_its_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_FILE, f"{path} has more than {MAX_FILE} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            n_lines = (node.end_lineno or node.lineno) - first + 1
            assert n_lines <= MAX_FUNCTION, f"{path}:{node.lineno} {node.name} has {n_lines} lines"
