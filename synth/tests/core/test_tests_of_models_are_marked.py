"""Tests that need torch carry its marker: `make test` leaves them out, `make test-slow` takes them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NEEDS = ('importorskip("torch")', "from judgments.tests.ml.kit import")


def test_every_file_that_needs_torch_has_the_marker():
    files = [path for path in ROOT.glob("*/tests/**/test_*.py") if path != Path(__file__).resolve()]
    needing = [path for path in files if any(line in path.read_text() for line in NEEDS)]
    assert len(needing) >= 4
    assert [path.name for path in needing if "pytest.mark.torch" not in path.read_text()] == []
