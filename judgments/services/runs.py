"""Saves asks as runs: one row each, written once; trouble with it is one warning and changes no answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.db import Error, IntegrityError, connection, transaction

from judgments import digests, options, strict_json
from judgments.models import JudgmentVersion, Origin, Run, RunEvent, RunEventKind
from judgments.questions import Question
from judgments.services import cutting, run_sql
from synth.options import BadOption

MAX_RECORD_BYTES = 16 * 1024
MIN_STATE_BYTES = 256
MAX_STORED_DEPTH = 200
MAX_QUOTES = 500
_UUID = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_ID = re.compile(rf"([a-z0-9_-]+(?:\.[a-z0-9_-]+)+)/{_UUID}")
# For ids inside a long text: begun at the slash. Tried from each letter of one long word, `_ID` takes hours.
_KEY = re.compile(rf"(?<=[a-z0-9_-]/){_UUID}")
_NAME_END = re.compile(r"[a-z0-9_-]\.[a-z0-9_-]+/\Z")
_NAME_CHARS = 100
log = structlog.get_logger(__name__)


@dataclass
class Draft:
    """Everything a run is made of. `answers`, `usage`: the host's own; `agent_id`: whose work it was."""

    judgment: str
    questions: Sequence[Question]
    state: Any
    mode: str
    at: datetime
    id: UUID = field(default_factory=uuid4)
    is_asked: bool = True
    skipped: str = ""
    origin: str = Origin.LIVE
    host: str = ""
    model: str = ""
    served_model: str = ""
    answers: Any = None
    usage: Any = None
    failure: str = ""
    failure_text: str = ""
    latency_ms: float | None = None
    session_id: str = ""
    session_model: str = ""
    chain_link: str = ""
    quotes: Iterable[str] = ()
    api_key_id: int | None = None
    agent_id: int | None = None
    is_test: bool = False
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()

    @property
    def public_id(self) -> str:
        """`<judgment>/<id>`."""
        return f"{self.judgment}/{self.id}"


def is_on() -> bool:
    """Whether asks are saved at all."""
    try:
        return bool(options.read(options.RUNS))
    except BadOption:
        return False


def parse_id(run_id: str) -> tuple[str, UUID]:
    """Judgment and key of a public id. ValueError for anything else."""
    found = _ID.fullmatch(run_id) if isinstance(run_id, str) else None
    if found is None:
        raise ValueError(f"{run_id!r} is no run id: <judgment>/<uuid>")
    return found[1], UUID(found[2])


def save(draft: Draft, *, is_late: bool = False) -> str | None:
    """The public id of the saved run; None when saving is off or failed, which is one warning.

    Inside a transaction the run is part of it. `is_late`: its id was given away before.
    """
    if not is_on():
        return None
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            (insert_late if is_late else insert)(draft)
    except (Error, ValueError, TypeError, RecursionError) as error:
        log.warning("run_not_saved", judgment=draft.judgment, error=f"{type(error).__name__}: {error}"[:200])
        return None
    return draft.public_id


def insert(draft: Draft) -> Run:
    """Write the run, and its version where it is the first of its wording."""
    for last in (False, True):
        try:
            return _insert(draft)
        except IntegrityError:
            # The sweep took the version in between; make it again, once.
            if last or connection.in_atomic_block:
                raise
    raise AssertionError("the second try returns or raises")


def _insert(draft: Draft) -> Run:
    wire = {question.id: question.as_wire() for question in draft.questions}
    questions, is_wording_cut, n_bytes = cutting.wording(_shallow(strict_json.saveable(wire)))
    row = _row(draft, is_wording_cut=is_wording_cut)
    # Of the whole, also where the wording is kept cut.
    instructions, criteria = digests.pair(draft.questions)
    if run_sql.insert_known(row, instructions, criteria):
        return row
    row.version, is_new = JudgmentVersion.objects.get_or_create(
        judgment=draft.judgment,
        instructions_digest=instructions,
        criteria_digest=criteria,
        defaults={"questions": questions},
    )
    row.n_bytes += n_bytes if is_new else 0
    row.save(force_insert=True)
    return row


def _row(draft: Draft, *, is_wording_cut: bool) -> Run:
    """The run without its version."""
    answers, are_cut, n_answers = cutting.answers(
        _shallow(strict_json.saveable(draft.answers)), is_wording_cut=is_wording_cut
    )
    rest = n_answers + len(draft.failure_text) + 400
    state, is_cut, n_state = kept_state(draft.state, max(MAX_RECORD_BYTES - rest, MIN_STATE_BYTES))
    return Run(
        id=draft.id, judgment=draft.judgment, at=draft.at, day=draft.at.astimezone(UTC).date(), state=state,
        is_truncated=is_cut or are_cut or is_wording_cut, is_asked=draft.is_asked, skipped=draft.skipped,
        origin=draft.origin, mode=draft.mode, host=draft.host[:300], model=_line(draft.model, 150),
        served_model=_line(draft.served_model, 200), answers=answers,
        usage=strict_json.saveable(draft.usage), failure=draft.failure,
        failure_text=_line(draft.failure_text, 200), latency_ms=draft.latency_ms,
        session_id=draft.session_id[:200], session_model=_line(draft.session_model, 200),
        chain_link=draft.chain_link[:200], quotes=quoted_ids(draft), api_key_id=draft.api_key_id,
        agent_id=draft.agent_id, is_test=draft.is_test, positive=list(draft.positive),
        negative=list(draft.negative), n_labels=0, n_bytes=n_state + rest,
    )  # fmt: skip


def _line(text: str, limit: int) -> str:
    return str(strict_json.saveable(text))[:limit]


def kept_state(state: Any, limit: int) -> tuple[Any, bool, int]:
    """The state as it is stored, whether it was cut, and its bytes.

    Over the limit, or nested too deep for a database to be safe, it is its own JSON text, cut on a character.
    """
    clean = strict_json.saveable(state)
    text = clean if isinstance(clean, str) else strict_json.dumps(clean)
    raw = text.encode()
    if len(raw) > limit:
        return raw[:limit].decode("utf-8", "ignore"), True, limit
    if not isinstance(clean, str) and strict_json.depth(clean) > MAX_STORED_DEPTH:
        return text, True, len(raw)
    return clean, False, len(raw)


def _shallow(value: Any) -> Any:
    """The value with what is nested deeper than is safe to read back as its own JSON text."""
    return value if strict_json.depth(value) <= MAX_STORED_DEPTH else _cut_off(value, MAX_STORED_DEPTH)


def _cut_off(value: Any, room: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not room:
        return strict_json.dumps(value)
    if isinstance(value, dict):
        return {key: _cut_off(inner, room - 1) for key, inner in value.items()}
    return [_cut_off(inner, room - 1) for inner in value]


def quoted_ids(draft: Draft) -> list[str]:
    """Ids of runs that the state repeats: those the asker named, and those that stand in its text."""
    found = dict.fromkeys(str(parse_id(run_id)[1]) for run_id in draft.quotes)
    text = draft.state if isinstance(draft.state, str) else strict_json.dumps(draft.state)
    found |= dict.fromkeys(match[1] for match in _KEY.finditer(text) if _names_run(text, match.start()))
    found.pop(str(draft.id), None)
    return list(found)[:MAX_QUOTES]


def _names_run(text: str, at: int) -> bool:
    """Whether the name of a judgment and a slash stand before this place."""
    return _NAME_END.search(text, max(0, at - _NAME_CHARS - 1), at) is not None


def insert_late(draft: Draft) -> Run:
    """`insert` for a run whose id was given away before: labels that came earlier are counted."""
    with transaction.atomic():
        lock(draft.id)
        run = insert(draft)
        run.n_labels = RunEvent.objects.filter(run_id=run.pk, kind=RunEventKind.LABEL).count()
        if run.n_labels:
            run.save(update_fields=["n_labels"])
    return run


def lock(key: UUID) -> None:
    """Wait until nobody else writes about this run before it is there; until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key.int % 2**63])
