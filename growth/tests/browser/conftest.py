"""A browser against a live server; every test here is slow, and skipped where there is no Chromium."""

from __future__ import annotations

from growth.tests.admin.conftest import proposal as proposal
from synth.testing.browser import chromium as chromium
from synth.testing.browser import open_admin_as as open_as  # noqa: F401
