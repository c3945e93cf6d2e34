"""Before the agent answers: does the trainer's message decide about the proposal that waits? Then do it.

Weak models say "applied" and never ask for the action, so the server reads the message itself. The decision
is committed before the prompt is built; the line returned tells the agent what is true. Unsure means still
pending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from growth import proposal_text
from growth.classifier import Asked, Classifier, LlmClassifier, Verdict, WordsFirst
from growth.models import Proposal
from growth.services import proposals
from growth.services.proposals.shown import shows
from growth.system_one import SystemOneFirst
from synth.errors import DomainError
from synth.services import audit

if TYPE_CHECKING:
    from synth.models import Message
    from synth.turns import Turn

DOOR = "chat"
DECISION, PROPOSAL, DONE = "growth.decision", "growth.proposal", "growth.done"
log = structlog.get_logger(__name__)

APPLIED = (
    "Result, from the server: {name}, your trainer, approved your proposed self-growth reflection; it has "
    "been applied and is your current reflection now. Nothing is left to decide; say so in your own words."
)
DISCARDED = (
    "Result, from the server: {name}, your trainer, rejected your proposed self-growth reflection; it was "
    "discarded and nothing changed. Nothing is left to decide; say so in your own words."
)
REWRITING = (
    "Result, from the server: {name}, your trainer, wants your proposed self-growth reflection to be "
    "different. It is being rewritten and will be sent for approval again; nothing has been applied. Say so "
    "in your own words."
)
NOT_CLEAR = (
    "Result, from the server: it is not clear whether your trainer's message decides about the proposed "
    "self-growth reflection. It is still waiting and nothing was applied. If the message was about it, ask "
    "plainly: approve, reject, or what should be different?"
)
NOT_SHOWN = (
    "Result, from the server: your trainer seems to decide about your proposed self-growth reflection, but "
    "has not been shown the version that waits now. Nothing was applied. It has been sent to their inbox; "
    "show it word for word as well, and ask again."
)
NOT_DONE = "Result, from the server: your trainer's decision was not carried out. {why} Tell them so."


def classifier() -> Classifier:
    """The classifier in use: the table of words, System 1 where it is on, the language model."""
    return WordsFirst(SystemOneFirst(LlmClassifier()))


def decide(turn: Turn) -> str:
    """Classify the trainer's message, carry out what it decides, and say so in one line; '' for nothing."""
    if not is_from_trainer(turn) or turn.is_retake or turn.message is None:
        return ""
    proposal = proposals.pending(turn.agent)
    if proposal is None or proposal.created_at >= turn.started_at or not turn.still_trained_by_person():
        return ""
    verdict = classifier().classify(_asked(turn, turn.message, proposal))
    turn.notes[DECISION], turn.notes[PROPOSAL] = verdict.kind, proposal.pk
    log.info("growth_decision_read", proposal=proposal.pk, kind=verdict.kind, source=verdict.source)
    if verdict.kind == "none":
        return ""
    if verdict.kind == "unsure":
        _note_refused(turn, proposal, verdict.why or "unsure")
        return NOT_CLEAR
    if not was_shown(turn, proposal):
        _note_refused(turn, proposal, "not_shown")
        if turn.person is not None:
            proposals.show_to(proposal, turn.person)
        return NOT_SHOWN
    return _carry_out(turn, proposal, verdict)


def is_from_trainer(turn: Turn) -> bool:
    """Whether a trainer of the agent started this turn, in a dialogue of their own that leaves traces."""
    dialogue = turn.dialogue
    return (
        turn.person is not None
        and turn.is_trainer
        and dialogue is not None
        and not dialogue.is_scratch
        and dialogue.person_id == turn.person.pk
        and dialogue.agent_id == turn.agent.pk
    )


def was_shown(turn: Turn, proposal: Proposal) -> bool:
    """Whether this very proposal is the one last shown to the trainer before they wrote."""
    if turn.person is None:
        return False
    since = turn.message.at if turn.message is not None else turn.started_at
    last = proposals.last_shown(turn.agent, turn.person, dialogue=turn.dialogue, before=since)
    return last is not None and (last.proposal_id, last.hash) == (proposal.pk, proposal.content_hash)


def carry_out(turn: Turn, proposal: Proposal, kind: str, feedback: str = "") -> str:
    """Do it as the turn's trainer and give the result line; DomainError as the services raise it."""
    person = turn.person
    if person is None:
        raise ValueError("a background turn decides nothing")
    if kind == "approve":
        proposals.approve(proposal.pk, by=person, door=DOOR, shown_hash=proposal.content_hash)
        turn.agent.refresh_from_db(fields=["likes", "dislikes"])
        line = APPLIED
    elif kind == "reject":
        proposals.reject(
            proposal.pk, by=person, door=DOOR, shown_hash=proposal.content_hash, feedback=feedback
        )
        line = DISCARDED
    else:
        proposals.revise(
            proposal.pk, by=person, door=DOOR, feedback=feedback, shown_hash=proposal.content_hash
        )
        line = REWRITING
    turn.notes[DONE] = kind
    return line.format(name=person.username)


def _carry_out(turn: Turn, proposal: Proposal, verdict: Verdict) -> str:
    feedback = verdict.feedback[: proposals.MAX_FEEDBACK_CHARS] if verdict.kind == "revise" else ""
    try:
        return carry_out(turn, proposal, verdict.kind, feedback)
    except DomainError as error:
        log.warning("growth_decision_not_done", proposal=proposal.pk, kind=verdict.kind, reason=error.code)
        turn.notes["growth.refused"] = error.code
        return NOT_DONE.format(why=error.message)


def _asked(turn: Turn, message: Message, proposal: Proposal) -> Asked:
    """The message with what it answers: the nearest thing the agent said above it."""
    said = message.parent
    return Asked(
        agent=turn.agent,
        session=f"dialogue:{turn.dialogue.pk}" if turn.dialogue else "",
        message=message.content,
        proposal=_summary(proposal),
        last_line=said.content if said is not None else "",
        # The first line of a dialogue answers what came to the trainer elsewhere; nothing was asked here.
        is_answer=said is None or (said.role == "proactive" and shows(said, proposal)),
    )


def _summary(proposal: Proposal) -> str:
    likes = proposal_text.list_lines(proposal.base_likes, proposal.likes, 20)
    dislikes = proposal_text.list_lines(proposal.base_dislikes, proposal.dislikes, 20)
    return "\n".join([proposal.content, "", "likes:", *likes, "dislikes:", *dislikes])


def _note_refused(turn: Turn, proposal: Proposal, reason: str) -> None:
    audit.record_refused(
        turn.person,
        door=DOOR,
        action="growth_proposal_decide",
        object=f"growth.proposal:{proposal.pk}",
        reason=reason,
        agent=turn.agent,
    )
