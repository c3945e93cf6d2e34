"""Rewriting a proposal with a trainer's feedback: a row and a ring at the door, the model's work in a worker.

The new text passes the same guards as a cycle's and supersedes the old proposal. Whatever goes wrong leaves
the old one pending; the request keeps the reason, and whoever was asked is told.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from growth import proposal_text
from growth.lists import read_list, resolve
from growth.models import GrowthRun, Proposal, ProposalStatus, Revision
from growth.services import context, prompt_text
from growth.services.asking import AskingRunner
from growth.services.effective import effective
from growth.services.proposals import common, delivering, opening
from growth.services.proposals.deciding import MAX_FEEDBACK_CHARS
from growth.services.reasons import REVISIONS
from growth.services.rewrite import PURPOSE, Rewrite, Written
from synth import background, faults
from synth.errors import Conflict, Refused
from synth.llm import is_configured
from synth.prompts import fence
from synth.rowqueue import leases
from synth.services import audit, fields

if TYPE_CHECKING:
    from synth.models import Agent, Person

REVISE = "growth_proposal_revise"
RUN_REVISIONS = "growth.run_revisions"
OPEN = (Revision.Status.QUEUED, Revision.Status.RUNNING)
log = structlog.get_logger(__name__)

faults.declare("growth.revise.before", "a trainer's wish to rewrite is written, not yet committed")
faults.declare("growth.revision.claimed", "a revision is claimed and marked running, nothing is done yet")
faults.declare("growth.revision.before", "a rewritten proposal is opened, not yet committed")
faults.declare("growth.revision.after", "the rewritten proposal is committed")


def revise(
    proposal_id: int, *, by: Person, door: str, feedback: Any, shown_hash: str | None = None
) -> Revision:
    """Save the wish to have a pending proposal rewritten, and ring for it.

    Refused `no_language_model` at once where nothing could rewrite it; Invalid for blank feedback; Conflict
    `already_<status>`, `hash_changed`, or `revision_running` while one of this proposal is on its way.
    """
    proposal = common.found(proposal_id)
    with common.refusals(by, door, REVISE, proposal):
        said = fields.text(feedback, "feedback", max_chars=MAX_FEEDBACK_CHARS, is_blank_allowed=False).strip()
        if not is_configured(proposal.agent, PURPOSE):
            raise Refused("No language model is configured to rewrite it.", code="no_language_model")
        with transaction.atomic():
            agent = common.hold(proposal.agent).agent
            proposal.refresh_from_db()
            at = now()
            common.refuse_strangers(agent, by)
            common.refuse_decided(proposal, at)
            common.refuse_unready(proposal, agent, shown_hash)
            revision = _saved(proposal, by, door, said, at)
            audit.record(
                by,
                door=door,
                action=REVISE,
                object=common.name_of(proposal.pk),
                agent=agent,
                after={"revision": revision.pk},
            )
            background.ring(RUN_REVISIONS)
            faults.point("growth.revise.before")
    return revision


def _saved(proposal: Proposal, by: Person, door: str, feedback: str, at: datetime) -> Revision:
    try:
        with transaction.atomic():
            return Revision.objects.create(
                proposal=proposal, feedback=feedback, asked_by_id=by.pk, door=door, created_at=at, due_at=at
            )
    except IntegrityError:
        running = Revision.objects.filter(proposal=proposal, status__in=OPEN).first()
        raise Conflict(
            "This proposal is already being rewritten.",
            code="revision_running",
            revision=running.pk if running else None,
        ) from None


class RevisionRunner(AskingRunner[Revision]):
    """Waiting wishes to rewrite, one after the other."""

    name = "growth_revision"
    task = RUN_REVISIONS
    reasons = REVISIONS

    def rows(self) -> QuerySet[Revision]:
        """Open revisions with their proposals, runs and agents."""
        rows = Revision.objects.filter(status__in=OPEN)
        return rows.select_related("proposal__agent", "proposal__run__agent")

    def fail(self, row: Revision, reason: str, detail: str) -> None:
        """`running → failed`; whoever was asked is told."""
        _fail(row, reason, detail)

    def do(self, row: Revision, kept: leases.Kept) -> None:
        """Rewrite, unless there is nothing left to rewrite."""
        faults.point("growth.revision.claimed")
        if why := _moot(row.proposal, row.proposal.agent, now()):
            _fail(row, why)
        else:
            _rewrite(row, kept)


REWRITINGS = RevisionRunner()
revise_waiting = REWRITINGS.run_waiting
ring_if_waiting = REWRITINGS.ring_if_waiting


def _rewrite(revision: Revision, kept: leases.Kept) -> None:
    proposal = revision.proposal
    run = proposal.run or GrowthRun(agent=proposal.agent, created_at=proposal.created_at)
    settings = effective(proposal.agent)

    def on_step(n_calls: int, guards: list[dict[str, Any]], fingerprint: str) -> None:
        kept.check()
        values: dict[str, Any] = {"n_calls": n_calls, "guards": guards}
        leases.guarded(revision, was={"status": Revision.Status.RUNNING}, **values)

    work = _Revise(run, context.build(run, settings), settings, on_step, revision=revision)
    written = work.write(is_last_try=REWRITINGS.is_last_try(revision))
    kept.check()
    _conclude(revision, written)


class _Revise(Rewrite):
    """A rewrite that starts from the note proposed and what the trainer said of it."""

    def __init__(self, *args: Any, revision: Revision) -> None:
        self.revision = revision
        super().__init__(*args)

    def task(self) -> str:
        return f"{super().task()}\n\n{prompt_text.REVISE}"

    def prompt_at(self) -> datetime | None:
        return self.revision.created_at

    def journal_key(self) -> str:
        return f"revision:{self.revision.pk}:rewrite"

    def material(self) -> str:
        old = self.revision.proposal
        return prompt_text.revised_material(
            super().material(),
            fence(old.content, "proposed note"),
            _fenced(old.likes, "proposed likes"),
            _fenced(old.dislikes, "proposed dislikes"),
            fence(self.revision.feedback, "trainer feedback"),
        )


def _fenced(items: list[str], label: str) -> str:
    return fence("\n".join(f"- {item}" for item in items) or "(none)", label)


def _moot(proposal: Proposal, agent: Agent, at: datetime) -> str:
    """Why there is nothing left to rewrite, or ''."""
    if proposal.status != ProposalStatus.PENDING or common.is_over(proposal, at):
        return "already_decided"
    return "agent_archived" if agent.archived_at is not None else ""


def _conclude(revision: Revision, written: Written) -> None:
    """Open the new proposal in place of the old one, in one transaction; or drop the result."""
    at = now()
    with transaction.atomic():
        agent = common.hold(revision.proposal.agent).agent
        old = Proposal.objects.select_related("run").get(pk=revision.proposal_id)
        why = _moot(old, agent, at)
        if not why:
            likes, dislikes = _lists(written, old)
            new = opening.open_new(
                agent,
                run=old.run,
                content=written.self_growth,
                likes=likes,
                dislikes=dislikes,
                evidence=written.evidence,
                is_ungrounded=written.is_ungrounded,
                writer="model",
                at=at,
                revises=old,
                feedback=revision.feedback,
            )
            leases.guarded(
                revision,
                was={"status": Revision.Status.RUNNING},
                status=Revision.Status.DONE,
                result=new,
                lease_until=None,
                finished_at=at,
            )
            faults.point("growth.revision.before")
    if why:
        _fail(revision, why)
        return
    faults.point("growth.revision.after")


def _lists(written: Written, old: Proposal) -> tuple[list[str], list[str]]:
    """What was said, where it was said; else the old proposal's. An empty list clears: a trainer decides."""
    liked = read_list(written.likes, old.likes, may_clear=True)
    disliked = read_list(written.dislikes, old.dislikes, may_clear=True)
    return resolve(liked.items, disliked.items)


def _fail(revision: Revision, reason: str, detail: str = "") -> None:
    """End without a new proposal, and tell whoever was asked."""
    with transaction.atomic():
        leases.guarded(
            revision,
            was={"status": Revision.Status.RUNNING},
            status=Revision.Status.FAILED,
            reason=reason,
            detail=detail[:500],
            lease_until=None,
            finished_at=now(),
        )
        old = Proposal.objects.select_related("agent").get(pk=revision.proposal_id)
        is_pending = old.status == ProposalStatus.PENDING
        title, body = proposal_text.not_rewritten(old.agent.name, old.pk, REVISIONS[reason], is_pending)
        delivering.notify(old, old.agent, f"revision-{revision.pk}", title, body)
    log.warning("growth_revision_failed", revision=revision.pk, proposal=revision.proposal_id, reason=reason)
