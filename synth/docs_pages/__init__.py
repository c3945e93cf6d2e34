"""Pages of `docs/` that are written or checked by code: `manage.py docs` and the drift tests use them."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
