"""Lines of labelled rows, as `judgments export` writes them, are read back whatever the texts hold."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from judgments import strict_json  # noqa: E402
from judgments.ml import encoders, making  # noqa: E402
from judgments.services import training  # noqa: E402
from synth.errors import Invalid  # noqa: E402

pytestmark = pytest.mark.torch
NAME = "growth.decision"


def test_ends_of_lines_inside_a_text_end_no_row(tmp_path):
    ends = "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng"
    states = [{"message": ends, "last_line": ends}, {"message": "Yes.", "last_line": "Shall I?"}]
    file = tmp_path / "labelled.jsonl"
    lines = [strict_json.dumps({"state": state, "label": "approve"}) for state in states]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = making.labelled(NAME, file, training.question_of(NAME))
    assert [row.state for row in rows] == states


def test_a_line_nested_too_deep_is_named(tmp_path):
    file = tmp_path / "labelled.jsonl"
    file.write_text(json.dumps({"state": "x", "label": None}) + "\n" + "[" * 100_000)
    with pytest.raises(Invalid, match="line 2"):
        making.labelled(NAME, file, training.question_of(NAME))


def test_weights_that_are_not_installed_are_a_missing_module():
    with pytest.raises(ModuleNotFoundError) as caught:
        encoders._folder("no_such_weights")
    assert caught.value.name == "no-such-weights"
