"""Changes that wait for a trainer: opened, delivered, approved, rejected, rewritten, expired.

Every door (admin site, REST, chat) calls these and nothing else. Each decision is one guarded move out of
`pending`, under growth's lock on the agent; refused tries are audited.
"""

from __future__ import annotations

from growth.services.proposals.common import base_holds, pending, too_late
from growth.services.proposals.deciding import MAX_FEEDBACK_CHARS, approve, reject, settle_stale
from growth.services.proposals.delivering import follow, show_to
from growth.services.proposals.expiring import expire_due
from growth.services.proposals.opening import open_from_run
from growth.services.proposals.revising import revise, revise_waiting, ring_if_waiting
from growth.services.proposals.shown import Shown, last_shown

__all__ = [
    "MAX_FEEDBACK_CHARS",
    "Shown",
    "approve",
    "base_holds",
    "expire_due",
    "follow",
    "last_shown",
    "open_from_run",
    "pending",
    "reject",
    "revise",
    "revise_waiting",
    "ring_if_waiting",
    "settle_stale",
    "show_to",
    "too_late",
]
