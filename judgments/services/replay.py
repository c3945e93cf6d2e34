"""Asks saved runs again on another model or wording and says what would have changed; acts on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.timezone import now

from judgments import options, registry
from judgments.answers import BadAnswer, read_answers
from judgments.backends import Failure, HostConfig, Reply
from judgments.models import JudgmentSetting, Origin, Run
from judgments.questions import Ask, Question, read_questions
from judgments.services import ordered, runs, settings
from judgments.services.reports import check_name
from judgments.typed import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from synth.errors import Unavailable

MAX_RUNS = 1_000
RETRIES = 2


@dataclass
class Tally:
    """What came of one question: `n_changed` answers flipped (yes to no, another option, another level)."""

    n: int = 0
    n_changed: int = 0
    shift: float = 0.0
    n_new: int = 0

    def as_json(self) -> dict[str, Any]:
        """As plain values; `mean_shift` is of p, of the old choice's p, or of the score as a share."""
        mean = self.shift / self.n if self.n else None
        return {"n": self.n, "n_changed": self.n_changed, "mean_shift": mean, "n_new": self.n_new}


@dataclass
class Replayed:
    """A whole replay; `n_truncated` runs could not be asked because they were cut in the record."""

    judgment: str
    model: str
    n_asked: int = 0
    n_truncated: int = 0
    served_models: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=dict)
    questions: dict[str, Tally] = field(default_factory=dict)
    instability: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        n = len(self.instability)
        return {
            "judgment": self.judgment,
            "model": self.model,
            "served_models": sorted(self.served_models),
            "n_asked": self.n_asked,
            "n_truncated": self.n_truncated,
            "failures": self.failures,
            "questions": {name: tally.as_json() for name, tally in self.questions.items()},
            "instability": sum(self.instability) / n if n else None,
        }


def replay(
    name: str,
    *,
    model: str = "",
    host: str = "",
    days: int = 7,
    limit: int = MAX_RUNS,
    is_current_wording: bool = False,
    n_orders: int = 1,
    is_saved: bool = False,
    at: datetime | None = None,
) -> Replayed:
    """Ask the newest runs of the last days again, skipped ones too. NotFound, or Unavailable without a host.

    `is_current_wording` asks the questions as they are declared now. `n_orders` asks choices in several
    orders of their options and averages them; readers of our own are asked once. Runs are saved (origin
    replay) only with `is_saved`. A run of an agent that is `local_only` is asked of no host elsewhere.
    """
    check_name(name)
    if is_current_wording:
        settings.declared(name)
    target = replace(_host(name, model, host), n_orders=n_orders)
    done = Replayed(name, target.model)
    since = (at or now()) - timedelta(days=days)
    rows = Run.objects.filter(judgment=name, at__gte=since).exclude(origin=Origin.REPLAY)
    for run in list(rows.select_related("version", "agent").order_by("-at", "-id")[:limit]):
        if run.is_truncated:
            done.n_truncated += 1
            continue
        _one(run, target, done, is_current_wording=is_current_wording, is_saved=is_saved)
    return done


def _host(name: str, model: str, address: str) -> HostConfig:
    row = settings.row_of(name)
    found = settings.host_for(JudgmentSetting(name=name, host=address or row.host, model=model or row.model))
    if found is None:
        raise Unavailable("There is no System One host to ask; set SYSTEM_ONE_HOST.", code="no_host")
    return found


def _one(run: Run, host: HostConfig, done: Replayed, *, is_current_wording: bool, is_saved: bool) -> None:
    old, _ = read_questions(run.version.questions)
    try:
        questions = registry.get(run.judgment).questions_for(run.state) if is_current_wording else old
        if not questions:
            raise registry.BadDeclaration(f"{run}: it ended before anybody knew its questions")
    except registry.BadDeclaration:
        done.failures["bad_questions"] = done.failures.get("bad_questions", 0) + 1
        return
    done.n_asked += 1
    # What was said to an agent that keeps to this network does not leave it later either.
    host = replace(host, local_only=run.agent is not None and run.agent.local_only)
    found = _ask(run, questions, host)
    if is_saved:
        _save(run, questions, host, found)
    if isinstance(found, Failure):
        done.failures[found.word] = done.failures.get(found.word, 0) + 1
        return
    done.served_models.add(found.served_model)
    done.instability += ordered.instabilities(found)
    _compare(run, old, found.typed, done)


def _ask(run: Run, questions: Iterable[Question], host: HostConfig) -> Reply | Failure:
    ask = Ask(host.model, run.state, tuple(questions), judgment=run.judgment)
    try:
        return ordered.ask(host, ask, options.read(options.LATER_TIMEOUT_MS) / 1000, retries=RETRIES)
    except Failure as failure:
        return failure


def _compare(run: Run, old: tuple[Question, ...], new: Mapping[str, Answer], done: Replayed) -> None:
    try:
        before = read_answers(Ask("", run.state, old), run.answers) if run.answers else {}
    except BadAnswer:
        before = {}
    for key, answer in new.items():
        tally = done.questions.setdefault(key, Tally())
        if key not in before or before[key].type != answer.type:
            tally.n_new += 1
            continue
        is_changed, shift = difference(before[key], answer)
        tally.n += 1
        tally.n_changed += is_changed
        tally.shift += shift


def difference(old: Answer, new: Answer) -> tuple[bool, float]:
    """Whether the answer flipped, and by how much its number moved, 0..1."""
    if isinstance(old, NoulAnswer) and isinstance(new, NoulAnswer):
        return (old.noul >= 0.5) != (new.noul >= 0.5), abs(old.noul - new.noul)
    if isinstance(old, ChoiceAnswer) and isinstance(new, ChoiceAnswer):
        moved = abs(old.probabilities[old.choice] - new.probabilities.get(old.choice, 0.0))
        return old.choice != new.choice, moved
    if isinstance(old, ScoreAnswer) and isinstance(new, ScoreAnswer):
        span = max(1, len(old.probabilities) - 1)
        return round(old.score) != round(new.score), abs(old.score - new.score) / span
    return True, 1.0


def _save(run: Run, questions: tuple[Question, ...], host: HostConfig, found: Reply | Failure) -> None:
    draft = runs.Draft(
        judgment=run.judgment, questions=questions, state=run.state, mode=run.mode, at=now(),
        origin=Origin.REPLAY, host=host.label, model=host.model, session_id=run.session_id,
        chain_link=str(run), quotes=[str(run)], agent_id=run.agent_id,
    )  # fmt: skip
    if isinstance(found, Failure):
        draft.failure, draft.failure_text = found.word, found.text
    else:
        draft.answers, draft.usage = found.answers, dict(found.usage)
        draft.served_model, draft.latency_ms = found.served_model, float(found.latency_ms)
    runs.save(draft)
