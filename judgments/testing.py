"""The pytest fixture `judgments`: scripted answers, real rows, no network. Loaded by pytest itself.

def test_it_acts_on_a_yes(judgments):
    judgments.answer("growth.decision", [0.9, 0.1, 0, 0])
    ...
    assert judgments.runs("growth.decision")[0].answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from judgments.models import Run, RunEvent
    from judgments.questions import Ask

Scripted = float | list[float] | dict[str, Any] | Callable[[Any], Any]


@dataclass
class Judgments:
    """What tests say about System 1, and what it was asked. `asks` holds every ask that reached a host."""

    asks: list[Ask] = field(default_factory=list)
    _answers: dict[str, dict[str | None, Scripted]] = field(default_factory=dict)
    _failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    _without_host: set[str] = field(default_factory=set)
    _is_shared_host_busy: bool = False

    def answer(self, name: str, noul: Scripted | None = None, *, question: str | None = None) -> None:
        """From now on the judgment (mode on, unless `mode` said otherwise) gives this.

        A number is p of a noul, a list one probability an option, a map an answer of the wire, a function is
        called with the state. `question` names one of several.
        """
        self._failures.pop(name, None)
        self._answers.setdefault(name, {})[question] = 0.5 if noul is None else noul
        self._switch_on(name)

    def fail(self, name: str, word: str = "unreachable", text: str = "") -> None:
        """From now on the host fails with this word."""
        self._failures[name] = (word, text)
        self._switch_on(name)

    def mode(self, name: str, mode: str) -> None:
        """Set the judgment's mode."""
        from judgments.models import JudgmentSetting

        JudgmentSetting.objects.update_or_create(name=name, defaults={"mode": mode})

    def no_host(self, name: str) -> None:
        """Nobody is there to ask."""
        self._without_host.add(name)
        self._switch_on(name)

    def shared_host_busy(self, is_busy: bool = True) -> None:
        """A turn runs on the server that would be asked."""
        self._is_shared_host_busy = is_busy

    def wait(self) -> None:
        """Everything asked with `judge_later` is answered and its handler was called."""
        from judgments.services import later
        from synth.rowqueue.deadline import Deadline

        later.run_waiting(Deadline(30))

    def runs(self, name: str) -> list[Run]:
        """The judgment's saved runs, oldest first."""
        from judgments.models import Run

        return list(Run.objects.filter(judgment=name).order_by("at", "id"))

    def labels(self, name: str) -> list[RunEvent]:
        """Labels of the judgment's runs, oldest first."""
        from judgments.models import RunEvent

        return list(RunEvent.objects.filter(judgment=name, kind="label").order_by("id"))

    def acted(self, name: str) -> list[RunEvent]:
        """What was done about the judgment's runs, oldest first."""
        from judgments.models import RunEvent

        return list(RunEvent.objects.filter(judgment=name, kind="acted").order_by("id"))

    def _switch_on(self, name: str) -> None:
        from judgments.models import JudgmentSetting

        JudgmentSetting.objects.get_or_create(name=name, defaults={"mode": "on"})

    def _say(self, ask: Ask) -> Any:
        self.asks.append(ask)
        if ask.judgment in self._failures:
            word, text = self._failures[ask.judgment]
            return {"fail": word, "text": text}
        said = self._answers.get(ask.judgment, {})
        whole = said.get(None)
        if callable(whole):
            whole = whole(ask.state)
        if isinstance(whole, dict):
            return whole
        # Another order of a choice has the id `<its id>~<n>`.
        own = {q.id: said.get(q.id.partition("~")[0], whole) for q in ask.questions}
        return {q.id: _of(q, said.get(q.id, own[q.id]), ask.state) for q in ask.questions}


def _of(question: Any, said: Any, state: Any) -> Any:
    """One answer of the wire from what a test wrote; flat where it wrote nothing."""
    from judgments.typed import to_wire, typed_answer

    if callable(said):
        said = said(state)
    if isinstance(said, dict):
        return said
    if question.type == "noul":
        return to_wire(typed_answer(question, 0.5 if said is None else float(said)))
    n = len(question.options)
    return to_wire(typed_answer(question, list(said) if isinstance(said, list) else [1 / n] * n))


@pytest.fixture
def judgments(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judgments]:
    """System 1 as a test wants it; everything it was not told of is off."""
    from judgments.backends import HostConfig, scripted
    from judgments.services import settings, shared_host

    kit = Judgments()

    def host_for(row: Any, *, local_only: bool = False) -> HostConfig | None:
        if row.name in kit._without_host:
            return None
        return HostConfig("scripted", local_only=local_only, n_orders=row.n_orders)

    monkeypatch.setattr(settings, "host_for", host_for)
    monkeypatch.setattr(shared_host, "is_busy", lambda host: kit._is_shared_host_busy)
    with scripted.script(kit._say):
        yield kit
