"""What the page of a proposal shows, and that of its rewriting; reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.timezone import now

from growth import selectors
from growth.models import Proposal, ProposalStatus, Revision
from growth.services import diff, page, proposals
from growth.services.desk_page import delivery
from growth.services.page import settings_pk as key_of
from growth.services.proposals.revising import OPEN
from growth.services.reasons import REVISIONS
from growth.services.rewrite import PURPOSE
from synth.errors import DomainError
from synth.llm import is_configured
from synth.text.sentences import sentences

if TYPE_CHECKING:
    from synth.models import Agent, LlmCall

N_EARLIER = 10
MAX_CHAIN = 20
ENDS = {
    "approved": "growth-good",
    "rejected": "growth-bad",
    "stale": "growth-warn",
    "expired": "growth-warn",
    "superseded": "growth-dim",
}


class Plain:
    """A text with two lists, for a diff."""

    def __init__(self, content: str, likes: Sequence[str], dislikes: Sequence[str]) -> None:
        self.content = content
        self.likes = list(likes)
        self.dislikes = list(dislikes)


def base_of(row: Proposal) -> Plain:
    """What was current when the proposal was written."""
    return Plain(row.base_content, row.base_likes, row.base_dislikes)


def settings_pk(agent: Agent) -> int:
    """The key of an agent's growth page."""
    return key_of(agent.pk)


def proposal(
    row: Proposal, mine: dict[str, Any] | None = None, error: DomainError | None = None
) -> dict[str, Any]:
    """The context of a proposal's page, under `page`. `mine` is what was typed, `error` what was wrong."""
    at = now()
    is_over = row.expires_at is not None and row.expires_at <= at
    is_open = row.status == ProposalStatus.PENDING and not is_over
    origin = Revision.objects.filter(result=row).first()
    calls = _calls(row, origin)
    applied = Plain(**row.applied) if row.applied else None
    return {
        "page": {
            "proposal": row,
            "agent": row.agent,
            "is_open": is_open,
            "is_over": is_over and row.status == ProposalStatus.PENDING,
            "is_stale": is_open and not proposals.base_holds(row, row.agent),
            "css": ENDS.get(row.status, "growth-dim"),
            "diff": diff.between(base_of(row), row),
            "applied": diff.between(row, applied) if applied and _is_edited(row, applied) else None,
            "evidence": page.evidence_lines(row.content, row.evidence),
            "delivery": delivery(row),
            "calls": page.call_lines(calls),
            "fingerprint": next((call.fingerprint for call in reversed(calls) if call.fingerprint), ""),
            "guards": origin.guards if origin else (row.run.guards if row.run else []),
            "revision": row.revision_requests.filter(status__in=OPEN).first(),
            "failed": row.revision_requests.filter(status=Revision.Status.FAILED).order_by("-pk").first(),
            "chain": _chain(row),
            "newer": row.revisions.order_by("pk").first(),
            "earlier": _earlier(row),
            "can_rewrite": is_configured(row.agent, PURPOSE),
            "settings_pk": settings_pk(row.agent),
            "mine": mine or {},
            "error": error.message if error else "",
            "sentences": (mine or {}).get("sentences")
            or [{"text": one, "is_kept": True} for one in sentences(row.content)],
        }
    }


def revision(row: Revision) -> dict[str, Any]:
    """The context of a rewriting's page, under `page`."""
    old = row.proposal
    return {
        "page": {
            "revision": row,
            "proposal": old,
            "agent": old.agent,
            "is_open": row.status in OPEN,
            "progress": revision_progress(row),
            "progress_url": reverse("admin:growth_revision_progress", args=[row.pk]),
            "why": REVISIONS.get(row.reason, ""),
            "is_old_open": old.status == ProposalStatus.PENDING,
            "guards": row.guards,
            "calls": page.call_lines(_calls_of(old, f"revision:{row.pk}:")),
            "diff": diff.between(old, row.result) if row.result else None,
        }
    }


def revision_progress(row: Revision) -> dict[str, Any]:
    """How far a rewriting is, as JSON of the shape of `page.run_progress`."""
    at = {Revision.Status.QUEUED: 0, Revision.Status.RUNNING: 1}.get(Revision.Status(row.status), 2)
    names = ["waiting for a worker", "rewriting with your feedback", "done"]
    if row.n_host_failures and at == 0:
        names[0] = f"the model's host did not answer ({row.n_host_failures} ×); trying again soon"
    if at == 2:
        names[2] = row.get_status_display()
    return {
        "is_open": row.status in OPEN,
        "percent": (5, min(90, 30 + 20 * row.n_calls), 100)[at],
        "steps": page.steps(names, at),
        "lines": page.guard_lines(row.guards),
    }


def _is_edited(row: Proposal, applied: Plain) -> bool:
    return (applied.content, applied.likes, applied.dislikes) != (row.content, row.likes, row.dislikes)


def _calls(row: Proposal, origin: Revision | None) -> list[LlmCall]:
    """The calls that wrote this very text."""
    if origin is not None:
        return _calls_of(row, f"revision:{origin.pk}:")
    return _calls_of(row, "cycle:") if row.run else []


def _calls_of(row: Proposal, key: str) -> list[LlmCall]:
    """Calls of one piece of work; those of a rewriting stand under the cycle it goes back to."""
    calls = selectors.calls(row.run) if row.run else []
    return [call for call in calls if call.journal_key.startswith(key)]


def _chain(row: Proposal) -> list[Proposal]:
    """The proposals this one goes back to, newest first; each carries the feedback that led to it."""
    chain: list[Proposal] = []
    step = row
    while step.revises is not None and len(chain) < MAX_CHAIN:
        step = step.revises
        chain.append(step)
    return chain


def _earlier(row: Proposal) -> list[Proposal]:
    """The proposals of this agent that ended before."""
    ended = Proposal.objects.filter(agent_id=row.agent_id, pk__lt=row.pk).exclude(
        status=ProposalStatus.PENDING
    )
    return list(ended.order_by("-created_at", "-pk")[:N_EARLIER])
