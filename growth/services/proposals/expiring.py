"""Undecided proposals run out: each by its own guarded move."""

from __future__ import annotations

from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Q

from growth.models import Proposal, ProposalStatus
from growth.services.proposals import common
from synth import faults
from synth.errors import Conflict

log = structlog.get_logger(__name__)
BATCH = 500
WORKER = "growth.tend_proposals"

faults.declare("growth.expire.before", "a proposal is marked expired, not yet committed")


def expire_due(at: datetime) -> int:
    """Mark as expired what has run out by `at`; how many. One bad row never stops the others."""
    rows = Proposal.objects.filter(status=ProposalStatus.PENDING, expires_at__lte=at)
    n_expired = 0
    for proposal in rows.select_related("agent").order_by("expires_at")[:BATCH]:
        try:
            with transaction.atomic():
                agent = common.hold(proposal.agent).agent
                common.move(
                    proposal,
                    ProposalStatus.EXPIRED,
                    by=WORKER,
                    door="task",
                    at=at,
                    agent=agent,
                    action="growth_proposal_expire",
                    where=Q(expires_at__lte=at),
                )
                faults.point("growth.expire.before")
            n_expired += 1
        except Conflict:
            continue  # somebody decided it first
        except Exception:  # noqa: BLE001 - whatever is wrong with one row, the others must still run out
            log.exception("growth_proposal_not_expired", proposal=proposal.pk)
    return n_expired
