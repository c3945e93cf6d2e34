"""What a model may ask growth for: `run_self_growth`, and `apply_growth_proposal` for its trainer.

A model never approves by itself. The action counts only in a turn that a trainer of the agent started, for
the proposal that trainer was last shown, and not against what their own message was read to say.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from growth import opener
from growth.decision import Kind, read_payload
from growth.models import Proposal, Trigger
from growth.services import proposals, runs
from synth import actions
from synth.actions import Action, Outcome
from synth.errors import Invalid
from synth.turns import Turn

APPLY, RUN = "apply_growth_proposal", "run_self_growth"
QUEUED = "growth.run"  # in a turn's notes
ASK = "Nothing was changed. Ask your trainer plainly: approve, reject, or what should be different?"
# What the message was read to say, and clearly so.
CLEAR = frozenset({"approve", "reject", "revise", "none"})

REFUSALS = {
    "bad_payload": "The payload does not fit: {why}. Nothing was changed.",
    "not_a_trainers_turn": "Only a trainer of yours, in their own chat with you, decides. Nothing changed.",
    "nothing_pending": "No proposal is waiting. Nothing was changed.",
    "delivering_turn": "This proposal was made in this very turn; your trainer has not seen it. " + ASK,
    "old_message": "An old message is being answered anew; nobody has just decided. " + ASK,
    "not_shown": "Your trainer has not been shown the version that waits now. Show it word for word. " + ASK,
    "not_said": "Your trainer's message does not say that. " + ASK,
    "unclear": "{why}. " + ASK,
}


def _flag(value: Any) -> bool:
    try:
        return runs.flag(value, "dry_run")
    except Invalid as error:
        raise ValueError(error.message) from None


class RunArguments(BaseModel, extra="forbid"):
    """Arguments of `run_self_growth`."""

    dry_run: Annotated[bool, BeforeValidator(_flag)] = Field(
        default=False, description="true: only show what would come of it, apply and propose nothing"
    )


class ApplyArguments(BaseModel, extra="forbid"):
    """Arguments of `apply_growth_proposal` as models are told of them; the payload has its own rules."""

    approve: bool | None = Field(default=None, description="true: the trainer said yes; false: they said no")
    revise: bool | None = Field(default=None, description="true: the trainer wants it different")
    feedback: str | None = Field(default=None, description="with revise: what the trainer wants different")


def run_self_growth(turn: Turn, arguments: RunArguments) -> Outcome:
    """Queue a reflection, one in a turn however often a model asks; DomainError as `runs.request`."""
    if queued := turn.notes.get(QUEUED):
        return Outcome(f"Already queued in this turn as run {queued}. Do not ask again.", {"run": queued})
    run = runs.request(
        turn.agent, by=turn.person, trigger=Trigger.ACTION, dry_run=arguments.dry_run, door="chat"
    )
    turn.notes[QUEUED] = run.pk
    what = "a trial of a reflection, which changes nothing," if run.is_dry_run else "a reflection"
    return Outcome(f"Queued {what} as run {run.pk}. It is not done yet.", {"run": run.pk})


def apply_growth_proposal(turn: Turn, payload: Any) -> Outcome:
    """Carry out the trainer's decision, or say why not; whatever is unclear changes nothing and asks."""
    decision = read_payload(payload)
    if decision.kind == Kind.REFUSED:
        return _refused("bad_payload", decision.why)
    if not opener.is_from_trainer(turn) or not turn.still_trained_by_person():
        return _refused("not_a_trainers_turn")
    if turn.is_retake:
        return _refused("old_message")
    if done := turn.notes.get(opener.DONE):
        return _already_done(str(done), decision.kind)
    proposal = proposals.pending(turn.agent)
    if proposal is None:
        return _refused("nothing_pending")
    if proposal.created_at >= turn.started_at:
        return _refused("delivering_turn")
    if decision.kind == Kind.ASK:
        return _refused("unclear", decision.why)
    return _decide(turn, proposal, decision.kind, decision.feedback)


def _decide(turn: Turn, proposal: Proposal, kind: Kind, feedback: str) -> Outcome:
    """What the payload clearly asks for, against what the trainer was read to say."""
    is_same = turn.notes.get(opener.PROPOSAL) == proposal.pk
    said = str(turn.notes.get(opener.DECISION, "")) if is_same else ""
    wanted = "approve" if kind == Kind.BARE else str(kind)
    if wanted == "approve" and said != "approve":
        return _refused(
            "not_said"
        )  # a payload alone never approves: it is the model's word, not the trainer's
    if said in CLEAR and said != wanted:
        return _refused("not_said")
    if not opener.was_shown(turn, proposal):
        return _refused("not_shown")
    line = opener.carry_out(turn, proposal, wanted, feedback)
    return Outcome(line, {"proposal": proposal.pk, "decision": wanted})


def _already_done(done: str, kind: Kind) -> Outcome:
    """The trainer's message was already acted on in this turn."""
    wanted = "approve" if kind == Kind.BARE else str(kind)
    if wanted == done:
        return Outcome(f"Already done in this turn: {done}. Nothing is left to decide.", {"decision": done})
    text = f"Your trainer's message was already read and carried out: {done}."
    return Outcome(text, is_ok=False, code="decided")


def _refused(code: str, why: str = "") -> Outcome:
    return Outcome(REFUSALS[code].format(why=why), is_ok=False, code=code)


def _is_pending(turn: Turn) -> bool:
    return proposals.pending(turn.agent) is not None


def register() -> None:
    """Called once when Django starts."""
    actions.register(
        Action(
            name=RUN,
            description="Look back on your week and rewrite your self-growth reflection; only when your "
            "trainer asks you to.",
            handler=run_self_growth,
            arguments=RunArguments,
            risk="reversible",
            who="trainer",
        )
    )
    actions.register(
        Action(
            name=APPLY,
            description="Pass on your trainer's decision about your proposed self-growth reflection. Only "
            "when the trainer you talk to has just said it.",
            handler=apply_growth_proposal,
            arguments=ApplyArguments,
            risk="reversible",
            who="trainer",
            raw_payload=True,
            is_guarded=True,
            offer=_is_pending,
        )
    )
