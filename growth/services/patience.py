"""How long growth's work with a language model is tried again, in one place for cycles and revisions."""

from __future__ import annotations

BACKOFF_S = (60, 300, 900)  # after the first, second and third time the host was in trouble
MAX_CRASHES = 5
MAX_OWN_FAILURES = 3
CRASH_BACKOFF_S = 30
KNOCK_S = 600.0  # after this long a new message takes over, so that none outlives the broker's patience
