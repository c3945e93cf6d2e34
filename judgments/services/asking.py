"""`judge`: ask a declared judgment and get a Result; trouble with a host is a reason, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import structlog
from django.db import InterfaceError, OperationalError
from django.utils.timezone import now

from judgments import options, registry, strict_json
from judgments import session as sessions
from judgments.backends import Failure, HostConfig, Reply
from judgments.models import Mode
from judgments.questions import Ask, Question
from judgments.registry import Declaration
from judgments.results import Result
from judgments.services import ordered, runs, settings, shared_host
from synth import selectors
from synth.net import database
from synth.services import dialogue_deletion

if TYPE_CHECKING:
    from synth.models import Agent, Dialogue

MAX_DEPTH = 100
log = structlog.get_logger(__name__)


class BadState(ValueError):
    """A state that is no string, object or array, or is nested deeper than 100."""


@dataclass(frozen=True)
class Asking:
    """One ask on its way: what is asked, in which session, and what is kept of it."""

    declaration: Declaration
    questions: tuple[Question, ...]
    state: Any
    session: str | None
    agent: Agent | None = None
    quotes: tuple[str, ...] = ()
    chain_link: str = ""
    session_model: str = ""
    api_key_id: int | None = None
    is_saved: bool = True
    is_test: bool = False
    dialogue: Dialogue | None = None

    @property
    def name(self) -> str:
        """The judgment's full name."""
        return self.declaration.name


def judge(
    name: str,
    state: Any,
    *,
    session: str | None = None,
    timeout_ms: int | None = None,
    agent: Agent | None = None,
    quotes: Iterable[str] = (),
    chain_link: str = "",
    session_model: str = "",
    api_key_id: int | None = None,
    is_saved: bool = True,
    is_test: bool = False,
    is_cancelled: Callable[[], bool] | None = None,
) -> Result:
    """Ask now, waiting at most `timeout_ms` (default SYSTEM_ONE_TIMEOUT_MS).

    Raises only for a mistake of the caller: Undeclared, BadState, BadDeclaration from a callable,
    InStreamHandler, InTransaction. `quotes` are ids of runs whose words the state repeats; `is_saved=False`
    is for guests' turns, warm-ups and checks. `agent` is found by a dialogue's session.
    """
    database.check()
    try:
        asking = prepare(
            name, state, session=session, agent=agent, quotes=tuple(quotes), chain_link=chain_link,
            session_model=session_model, api_key_id=api_key_id, is_saved=is_saved, is_test=is_test,
        )  # fmt: skip
        held, reason = look(asking)
    except (OperationalError, InterfaceError) as error:
        # Nobody knows what is set, and no run can be kept.
        log.warning("judgment_without_database", judgment=name, error=str(error)[:200])
        return Result(reason="failed", failure="unreachable")
    if reason or held.host is None:
        return unasked(asking, held.mode, reason or "no_host")
    wait_s = (options.read(options.TIMEOUT_MS) if timeout_ms is None else timeout_ms) / 1000
    return ask(asking, held.mode, held.host, wait_s, is_cancelled=is_cancelled)


def prepare(name: str, state: Any, *, session: str | None, **more: Any) -> Asking:
    """Everything about an ask that needs no row but its dialogue's; raises for the caller's mistakes."""
    sessions.refuse_in_stream()
    declaration = registry.get(name)
    check_state(state)
    asking = Asking(declaration, declaration.questions_for(state), state, sessions.current(session), **more)
    return _of_dialogue(asking)


def check_state(state: Any) -> None:
    """BadState for what cannot be a state."""
    if not isinstance(state, str | dict | list):
        raise BadState(f"a state is a string, an object or an array, not {type(state).__name__}")
    if strict_json.depth(state) > MAX_DEPTH:
        raise BadState(f"a state is nested at most {MAX_DEPTH} deep")
    try:
        strict_json.dumps(state)
    except (TypeError, ValueError) as error:
        raise BadState(f"the state is not JSON: {error}") from None


def _of_dialogue(asking: Asking) -> Asking:
    """The ask with its dialogue's agent; nothing of a scratch dialogue is saved."""
    key = dialogue_of(asking.session)
    dialogue = selectors.dialogue_by_id(key) if key else None
    if dialogue is None:
        return asking
    agent = asking.agent or selectors.agent_by_id(dialogue.agent_id)
    is_saved = asking.is_saved and not dialogue.is_scratch
    return replace(asking, agent=agent, is_saved=is_saved, dialogue=dialogue)


def is_orphan(asking: Asking) -> bool:
    """Whether its dialogue was deleted."""
    return bool(dialogue_of(asking.session)) and asking.dialogue is None


def dialogue_of(session: str | None) -> str:
    """The id of the dialogue a session is of; blank for any other."""
    kind, _, key = (session or "").partition(":")
    return key if kind == "dialogue" and _is_uuid(key) else ""


def _is_uuid(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


def look(asking: Asking, *, is_later: bool = False) -> tuple[settings.Effective, str]:
    """What holds for this ask, and the reason why it is not sent, or ""."""
    is_local_only = asking.agent is not None and asking.agent.local_only
    held = settings.effective(asking.declaration, local_only=is_local_only)
    if held.mode == Mode.OFF:
        return held, "off"
    if held.host is None:
        return held, "no_host"
    if asking.session is None:
        return held, "no_session"
    if asking.declaration.shared_host == "skip" and shared_host.is_busy(held.host):
        return held, "shared_host"
    return held, ""


def unasked(asking: Asking, mode: str, reason: str, draft: runs.Draft | None = None) -> Result:
    """The result of an ask that was not sent; saved where the reason says so, `draft` under its own id."""
    saved = None
    if reason in ("shared_host", "busy"):
        is_late = draft is not None
        draft = draft or draft_of(asking, mode)
        draft.is_asked, draft.skipped = False, reason
        saved = _saved(asking, draft, is_late=is_late)
    return Result(mode=mode, reason=reason, run_id=saved, question_ids=ids(asking.questions))


def ask(
    asking: Asking,
    mode: str,
    host: HostConfig,
    wait_s: float,
    *,
    is_cancelled: Callable[[], bool] | None = None,
) -> Result:
    """Send it, save it, give the result. Nothing is kept of a dialogue that was deleted meanwhile."""
    draft = draft_of(asking, mode)
    found = send(asking, host, wait_s, is_cancelled=is_cancelled)
    result = close(asking, draft, host, found)
    if result.run_id is not None and asking.dialogue is not None:
        dialogue_deletion.forget_if_gone(asking.dialogue)
    return result


def send(
    asking: Asking,
    host: HostConfig,
    wait_s: float,
    *,
    retries: int = 0,
    is_cancelled: Callable[[], bool] | None = None,
) -> Reply | Failure:
    """The reply or what went wrong."""
    sent = Ask(host.model, asking.state, asking.questions, judgment=asking.name)
    try:
        return ordered.ask(host, sent, wait_s, retries=retries, is_cancelled=is_cancelled)
    except Failure as failure:
        return failure


def close(
    asking: Asking, draft: runs.Draft, host: HostConfig, found: Reply | Failure, *, is_late: bool = False
) -> Result:
    """Save what came of it; the result either way."""
    fill(draft, host, found)
    saved = _saved(asking, draft, is_late=is_late)
    known = ids(asking.questions)
    if isinstance(found, Failure):
        reason = "cancelled" if found.word == "cancelled" else "failed"
        return Result(draft.mode, reason, run_id=saved, question_ids=known, failure=found.word)
    return Result(draft.mode, None, found.typed, saved, known)


def fill(draft: runs.Draft, host: HostConfig, found: Reply | Failure) -> None:
    """What a host said, or why it said nothing, as part of the run."""
    draft.host, draft.model = host.label, host.model
    draft.latency_ms = (now() - draft.at).total_seconds() * 1000
    if isinstance(found, Failure):
        draft.failure, draft.failure_text = found.word, found.text
        return
    draft.answers, draft.usage = found.answers, dict(found.usage)
    draft.served_model, draft.latency_ms = found.served_model, float(found.latency_ms)


def draft_of(asking: Asking, mode: str, run_id: UUID | None = None) -> runs.Draft:
    """The run as far as it is known before the ask."""
    return runs.Draft(
        judgment=asking.name, questions=asking.questions, state=asking.state, mode=mode, at=now(),
        id=run_id or uuid4(), session_id=asking.session or "", session_model=asking.session_model,
        chain_link=asking.chain_link, quotes=asking.quotes, api_key_id=asking.api_key_id,
        agent_id=asking.agent.pk if asking.agent else None, is_test=asking.is_test,
        positive=asking.declaration.positive, negative=asking.declaration.negative,
    )  # fmt: skip


def _saved(asking: Asking, draft: runs.Draft, *, is_late: bool = False) -> str | None:
    return runs.save(draft, is_late=is_late) if asking.is_saved else None


def ids(questions: Sequence[Question]) -> tuple[str, ...]:
    """Question ids in order."""
    return tuple(question.id for question in questions)
