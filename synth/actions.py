"""What a model may ask for: `register` an action, `offered` as tools, `perform` checked and audited.

An action is named `noun_verb`, has one argument model, a risk and a word on who may cause it. What the model
says it did is never believed: the text of the `Outcome` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args, overload
from uuid import UUID

import structlog
from pydantic import BaseModel, ValidationError

from synth import approval_options
from synth.chat import taint
from synth.chat.scopes import Scope
from synth.errors import DomainError
from synth.turns import Turn

if TYPE_CHECKING:
    from synth.models import Approval, Message

Risk = Literal["read", "reversible", "needs_approval"]
Who = Literal["anyone", "trainer", "operator"]
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
FOREIGN = "actions.foreign"  # in a turn's notes: it has read what strangers wrote
MAX_TEXT_CHARS = 16_000  # of an outcome, as the model reads it
log = structlog.get_logger(__name__)

# Why an action was not performed, as the model is told.
REFUSALS = {
    "unknown_action": "There is no such action.",
    "invalid_payload": "The payload does not fit this action.",
    "not_allowed": "The person who started this turn may not cause this action.",
    "needs_approval": "A person must approve this action first, and nobody was asked.",
    "scratch": "This is a scratch dialogue, which leaves nothing behind; it was not performed.",
    "too_many": "This turn has used up its actions; this one was not performed.",
    "quoted": "This action only repeats text from the conversation or from data; it was not performed.",
    "denied": "The person said no; it was not performed. Do not ask for the same again.",
    "approval_expired": "Nobody answered in time; it was not performed.",
    "approval_withdrawn": "The question was taken back before anybody answered; it was not performed.",
    "approval_mismatch": "This is not what the person was asked about; it was not performed.",
    "already_performed": "This was begun once before and is not begun again. What came of it is only known "
    "where a result line says so.",
    "action_broke": "The action broke; nothing more is known. Do not say that it was done.",
}
# The model may put these right, so they count as correction rounds.
CORRECTABLE = frozenset({"unknown_action", "invalid_payload", "not_allowed", "needs_approval", "quoted"})


class NoArguments(BaseModel, extra="forbid"):
    """The arguments of an action that takes none."""


@dataclass(frozen=True)
class Outcome:
    """What became of an action. `text` is the line of truth, read by the model and kept in the dialogue.

    `data` is for programs (JSON values). `code` names a refusal: a key of `REFUSALS` or a service's own.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    is_ok: bool = True
    code: str = ""

    @property
    def is_correctable(self) -> bool:
        """Whether the model did it wrong and may try again."""
        return self.code in CORRECTABLE


@dataclass(frozen=True)
class Waiting:
    """A person is being asked. `perform` is called again, with the same answer and call id, once they have
    decided or at `expires_at`; until then nothing is done.
    """

    approval_id: UUID
    expires_at: datetime


Handler = Callable[[Turn, Any], Outcome]


@dataclass(frozen=True, eq=False)
class Action:
    """One thing a model may ask for.

    `handler(turn, arguments)` gets an instance of `arguments`, a pydantic model with extra=forbid. With
    `raw_payload` it gets the JSON value as it came: `{}`, or None for null and for no payload at all. It may
    open its own transactions and raise DomainError. `offer` can hide the action where it makes no sense.

    For an approval, `scopes(arguments)` lists what may be allowed for longer besides exactly this, narrowest
    first, and `diff(turn, arguments)` shows what would change. `touches_self` marks what reaches Synth's own
    settings, runs or hooks: nothing but a person ever allows that. `is_guarded` is for an action whose
    handler itself proves that the person of the turn wants it. `toolkits` names the kits that have it besides
    those that list it themselves. `is_foreign` marks results that hold what strangers wrote (pages, mail):
    after one, a turn does nothing above read without asking. `keeps(turn, arguments)` gives texts that it
    leaves as they were, such as the one it rewrites: repeating these is nothing new. `spoken` are words by
    which somebody orders it ("remember"): where another's text opens a sentence so, the person is asked.
    """

    name: str
    description: str
    handler: Handler
    arguments: type[BaseModel] = NoArguments
    risk: Risk = "read"
    who: Who = "anyone"
    raw_payload: bool = False
    offer: Callable[[Turn], bool] | None = None
    scopes: Callable[[Any], list[Scope]] | None = None
    diff: Callable[[Turn, Any], str] | None = None
    touches_self: bool = False
    is_guarded: bool = False
    is_foreign: bool = False
    keeps: Callable[[Turn, Any], list[str]] | None = None
    spoken: tuple[str, ...] = ()
    toolkits: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"action {self.name!r}: small letters, digits and _ only")
        if self.risk not in get_args(Risk) or self.who not in get_args(Who):
            raise ValueError(f"action {self.name}: unknown risk {self.risk!r} or who {self.who!r}")
        if self.arguments.model_config.get("extra") != "forbid":
            raise ValueError(f"action {self.name}: its arguments must forbid extra keys")

    def tool(self) -> dict[str, Any]:
        """The action as an OpenAI tool."""
        schema = self.arguments.model_json_schema()
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}


_actions: dict[str, Action] = {}


def register(action: Action) -> None:
    """Add an action; called from an app's `ready()`. A name added twice is a programming error."""
    if action.name in _actions:
        raise ValueError(f"action {action.name} is registered twice")
    _actions[action.name] = action


def unregister(name: str) -> None:
    """Take an action out again; for tests."""
    _actions.pop(name, None)


def registered() -> Iterator[Action]:
    """Every action, by name."""
    return iter([_actions[name] for name in sorted(_actions)])


def named(name: str) -> Action | None:
    """The action of that name, or None."""
    return _actions.get(name)


def available(turn: Turn) -> list[Action]:
    """The actions this turn may cause now, by name; what needs approval only where somebody can be asked."""
    found = [a for a in registered() if _is_in_kit(turn, a) and _may(turn, a)]
    if _is_scratch(turn):
        found = [a for a in found if a.risk == "read"]
    if not _can_ask(turn):
        found = [a for a in found if a.risk != "needs_approval"]
    return [action for action in found if _is_offered(turn, action)]


def offered(turn: Turn) -> list[dict[str, Any]]:
    """`available` as OpenAI tools."""
    return [action.tool() for action in available(turn)]


@overload
def perform(turn: Turn, name: str, payload: Any, *, call_id: str = ..., answer: None = ...) -> Outcome: ...
@overload
def perform(
    turn: Turn, name: str, payload: Any, *, call_id: str, answer: Message | None
) -> Outcome | Waiting: ...
def perform(
    turn: Turn, name: str, payload: Any, *, call_id: str = "", answer: Message | None = None
) -> Outcome | Waiting:
    """Do one action for a turn. Never raises; a refusal is an `Outcome` with `is_ok=False` and a `code`.

    `payload` is the JSON value the model gave: null and no payload are both None. Call it outside of any
    transaction. Refused tries, and whatever changes something, leave an audit entry.

    Where a person must be asked first, `answer` (the message being written) and `call_id` name the question,
    and `Waiting` comes back until it is decided. Without them it is refused. What was allowed is performed
    once, however often this is called.
    """
    action = _actions.get(name)
    if action is None or not _is_in_kit(turn, action):
        known = ", ".join(a.name for a in available(turn)) or "none"
        return _refuse(turn, name, "unknown_action", f"Available are: {known}.")
    if not _may(turn, action):
        return _refuse(turn, name, "not_allowed")
    if action.risk != "read" and _is_scratch(turn):
        return _refuse(turn, name, "scratch")
    arguments = payload
    if not action.raw_payload:
        try:
            arguments = action.arguments.model_validate({} if payload is None else payload)
        except ValidationError as error:
            return _refuse(turn, name, "invalid_payload", first_errors(error))
    if action.risk == "read":
        return _run(turn, action, arguments)
    return _above_read(turn, action, arguments, call_id, answer)


def _above_read(
    turn: Turn, action: Action, arguments: Any, call_id: str, answer: Message | None
) -> Outcome | Waiting:
    """Do it, ask for it, or follow what was answered."""
    from synth.services import approval_asking as asking

    plain = arguments.model_dump(mode="json") if isinstance(arguments, BaseModel) else arguments
    if answer is not None and (earlier := asking.find(answer, call_id)) is not None:
        return _follow(turn, action, arguments, plain, earlier)
    doubt = "" if action.is_guarded else _doubt(turn, action, arguments, plain)
    if action.risk != "needs_approval" and not doubt:
        return _run(turn, action, arguments)
    if answer is None or not call_id or not _can_ask(turn):
        return _refuse(turn, action.name, "needs_approval", doubt)
    question = asking.Question(turn, answer, call_id, action, arguments, plain, doubt)
    return _follow(turn, action, arguments, plain, asking.open(question))


def _doubt(turn: Turn, action: Action, arguments: Any, plain: Any) -> str:
    """Why the person may not be who wants this; "" for no reason."""
    if turn.notes.get(FOREIGN):
        return taint.FOREIGN
    kept: list[str] = []
    if action.keeps is not None and turn.untrusted:
        try:
            kept = action.keeps(turn, arguments)
        except Exception:  # noqa: BLE001 - then all of it counts as new, and the person is asked
            log.exception("action_keeps_failed", action=action.name)
    found = taint.reason(
        action.name, plain, turn.untrusted, turn.own_words,
        kept=kept, spoken=action.spoken, manuals=turn.manuals,
    )  # fmt: skip
    has_read = any(text.strip() for text in turn.untrusted)
    return found or (taint.OTHERS if has_read and approval_options.is_strict() else "")


def _follow(turn: Turn, action: Action, arguments: Any, plain: Any, approval: Approval) -> Outcome | Waiting:
    """What the person's answer, or none yet, makes of the action."""
    from synth.services import approval_asking as asking

    if approval.status == "pending":
        return Waiting(approval.pk, approval.expires_at)
    if approval.status != "allowed":
        return _refuse(turn, action.name, _UNALLOWED[approval.status])
    if not _may_still(turn, action):
        return _refuse(turn, action.name, "not_allowed")
    if not asking.is_about(approval, action.name, plain):
        return _refuse(turn, action.name, "approval_mismatch")
    if not asking.take(approval):
        return _refuse(turn, action.name, "already_performed")
    return _run(turn, action, arguments, approval=str(approval.pk))


def refuse(turn: Turn, name: str, code: str, detail: str = "") -> Outcome:
    """A refusal by whoever runs the turn; audited like any other."""
    return _refuse(turn, name, code, detail)


def first_errors(error: ValidationError) -> str:
    """Where and what, for at most three errors; never the input itself."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'payload'}: {e['msg']}" for e in found)[:300]


_UNALLOWED = {"denied": "denied", "expired": "approval_expired", "withdrawn": "approval_withdrawn"}


def _can_ask(turn: Turn) -> bool:
    return turn.person is not None and turn.dialogue is not None


def _is_scratch(turn: Turn) -> bool:
    """A scratch dialogue leaves nothing in memory or elsewhere, so its agent only reads."""
    return turn.dialogue is not None and turn.dialogue.is_scratch


def _is_in_kit(turn: Turn, action: Action) -> bool:
    from synth import toolkits

    return toolkits.allows(turn.dialogue, action)


def _is_offered(turn: Turn, action: Action) -> bool:
    if action.offer is None:
        return True
    try:
        return action.offer(turn)
    except Exception:  # noqa: BLE001 - an app's trouble must not take the agent's other actions away
        log.exception("action_offer_failed", action=action.name)
        return False


def _may(turn: Turn, action: Action) -> bool:
    """Whether the person of the turn may cause it, by the database as it is now."""
    if action.who == "anyone":
        return True
    if turn.person is None:
        return False
    return turn.is_operator if action.who == "operator" else turn.still_trained_by_person()


def _may_still(turn: Turn, action: Action) -> bool:
    """The same after a wait, in which a person may have lost what the turn began with, or the agent been put
    away or closed to them.
    """
    from synth import selectors
    from synth.schemas import Caller

    if turn.person is None:
        return True
    turn.person.refresh_from_db(fields=["is_operator", "is_superuser", "archived_at"])
    is_operator = turn.person.is_operator or turn.person.is_superuser
    if turn.person.archived_at is not None or (action.who == "operator" and not is_operator):
        return False
    caller = Caller(turn.person, None, turn.is_operator and is_operator, turn.is_trainer)
    return selectors.agents_seen(caller).filter(pk=turn.agent.pk, archived_at=None).exists()


def _run(turn: Turn, action: Action, arguments: Any, approval: str = "") -> Outcome:
    try:
        outcome = action.handler(turn, arguments)
    except DomainError as error:
        outcome = Outcome(error.message, is_ok=False, code=error.code)
    except Exception:  # noqa: BLE001 - whatever an action does, the agent must still be able to answer
        log.exception("action_broke", action=action.name)
        outcome = Outcome(REFUSALS["action_broke"], is_ok=False, code="action_broke")
    if action.is_foreign:
        turn.notes[FOREIGN] = True
    if action.risk != "read" or outcome.code:
        _audit(turn, action.name, outcome, approval)
    return outcome


def _refuse(turn: Turn, name: str, code: str, detail: str = "") -> Outcome:
    outcome = Outcome(f"{REFUSALS[code]} {detail}".strip(), is_ok=False, code=code)
    _audit(turn, name, outcome)
    return outcome


def _audit(turn: Turn, name: str, outcome: Outcome, approval: str = "") -> None:
    from synth.services import audit

    who = turn.person or "background turn"
    action = re.sub(r"[^\w.-]", "?", name)[:64] or "?"
    if outcome.is_ok:
        audit.record(
            who, door="chat", action=action, object=turn.label, agent=turn.agent,
            after={"result": outcome.text[:300], **({"approval": approval} if approval else {})},
        )  # fmt: skip
    else:
        audit.record_refused(
            who, door="chat", action=action, object=turn.label, agent=turn.agent,
            reason=outcome.code or outcome.text[:300],
        )  # fmt: skip
