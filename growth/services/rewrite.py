"""The model's part of a cycle: at most three calls, judged by their shape and by the week's diary.

A reply is saved by the door before it is used, under a key of its step, so work resumed after a crash takes
the replies it already paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from growth import reply as rules
from growth.excerpts import excerpts
from growth.grounding import Grounding, verdict
from growth.models import GrowthRun
from growth.selectors import session_of
from growth.services import prompt_text
from growth.services.context import Context
from growth.services.effective import EffectiveSettings
from growth.system_one import look_at_grounding
from synth import faults
from synth.llm import Attempt, LlmError, Message, Request, ask_json, stricter
from synth.llm.tolerant import PROBLEMS
from synth.prompts import assemble, fence

PURPOSE = "reflection"
EXPECTED = ("self_growth",)
N_EXCERPTS = 8

faults.declare("growth.reply.saved", "a reply is paid for and on record, nothing has used it yet")


class Unusable(Exception):
    """Two replies in a row had the wrong shape."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass
class Written:
    """What a writer made of a week. `likes` and `dislikes` are what it said, unread."""

    self_growth: str
    likes: object
    dislikes: object
    evidence: list[dict[str, Any]]
    is_ungrounded: bool = False
    warnings: list[str] = field(default_factory=list)


class Rewrite:
    """One rewrite. `on_step(n_calls, guards, fingerprint)` is called after every reply and verdict; it may
    raise when the run was taken over."""

    def __init__(
        self,
        run: GrowthRun,
        context: Context,
        settings: EffectiveSettings,
        on_step: Callable[[int, list[dict[str, Any]], str], None],
    ) -> None:
        self.run = run
        self.context = context
        self.settings = settings
        self.on_step = on_step
        self.n_calls = 0
        self.guards: list[dict[str, Any]] = []
        self.diary = [rules.DiaryText(entry.id, entry.content) for entry in context.entries]
        self.request = self._request()

    def write(self, is_last_try: bool) -> Written:
        """The new self. LlmError as the door raises it; Unusable after two replies of the wrong shape.

        `is_last_try`: trouble of the host on the grounding retry keeps the first reply instead of raising.
        """
        judged = self._well_shaped()
        found = self._ground(judged)
        if not found.is_abstract:
            return _written(judged)
        second = self._more_concrete(judged, found, is_last_try)
        if second is None:
            return _written(judged, is_ungrounded=True)
        return _written(second, is_ungrounded=self._ground(second).is_abstract)

    def _well_shaped(self) -> rules.Judged:
        """The first usable reply; one stricter retry."""
        first = self._ask(self.request)
        judged = self._judge(first)
        if not judged.problem:
            return judged
        second = self._ask(stricter(self.request, first.problem or judged.detail, rules.KEYS))
        again = self._judge(second)
        if again.problem:
            raise Unusable(f"First: {judged.detail}. Then: {again.detail}.")
        return again

    def _more_concrete(
        self, judged: rules.Judged, found: Grounding, is_last_try: bool
    ) -> rules.Judged | None:
        """The reply of the one retry with excerpts; None when it is unusable."""
        picked = excerpts(self.context.entries, N_EXCERPTS)
        lines = "\n".join(f"[#{one.entry_id}] {one.text}" for one in picked)
        text = prompt_text.concrete(
            fence(judged.self_growth, "note"), fence(lines, "diary excerpts"), bool(found.markers)
        )
        try:
            attempt = self._ask(self.request.with_instruction(text, journal_suffix=":concrete"))
        except LlmError as error:
            if error.reason == "content_filter" or (error.retryable and not is_last_try):
                raise
            why = f"the retry brought no reply ({error.reason}); the first is kept"
            self._note("grounding", "unusable", why)
            return None
        second = self._judge(attempt)
        return None if second.problem else second

    def _ask(self, request: Request) -> Attempt:
        attempt = ask_json(request, EXPECTED)
        self.n_calls += 1
        faults.point("growth.reply.saved")
        self._tell(attempt.reply.fingerprint)
        return attempt

    def _judge(self, attempt: Attempt) -> rules.Judged:
        """The shape guard's verdict on one reply."""
        if attempt.value is None:
            judged = rules.Judged("bad_shape", PROBLEMS.get(attempt.problem, attempt.problem))
        else:
            judged = rules.judge(attempt.value, self.diary)
        notes = [*attempt.notes, *judged.notes]
        self._note("shape", "refused" if judged.problem else "ok", judged.detail, notes=notes)
        return judged

    def _ground(self, judged: rules.Judged) -> Grounding:
        """The grounding guard's verdict on one text."""
        texts = [entry.content for entry in self.context.entries]
        language, markers = self.run.agent.language, self.settings.filler_markers
        found = verdict(judged.self_growth, texts, language, markers)
        look_at_grounding(
            self.run.agent, session_of(self.run), judged.self_growth, texts, is_abstract=found.is_abstract
        )
        said = "abstract" if found.is_abstract else "grounded"
        self._note("grounding", said, found.why, shared=list(found.shared))
        return found

    def _note(self, guard: str, said: str, why: str, **more: Any) -> None:
        self.guards.append({"step": self.n_calls, "guard": guard, "verdict": said, "why": why, **more})
        self._tell("")

    def _tell(self, fingerprint: str) -> None:
        self.on_step(self.n_calls, self.guards, fingerprint)

    def task(self) -> str:
        """What is asked, below the agent's own layers."""
        agent = self.run.agent
        return prompt_text.task(agent.name, agent.language, rules.MAX_CHARS)

    def journal_key(self) -> str:
        """What work that is taken up again finds its paid replies under."""
        return f"{session_of(self.run)}:rewrite"

    def prompt_at(self) -> datetime | None:
        """The first start, not this one: taken up again, the work must send the same words."""
        return self.run.started_at

    def _request(self) -> Request:
        agent = self.run.agent
        prompt = assemble(agent, PURPOSE, at=self.prompt_at())
        task = self.task()
        layers = prompt.message()
        parts = (*layers.parts, ("growth_task", task)) if layers.text else (("growth_task", task),)
        system = Message("system", "\n\n".join(text for _, text in parts), parts)
        material = self.material()
        return Request(
            purpose=PURPOSE,
            messages=[system, Message("user", material, (("growth_material", material),))],
            agent=agent,
            session=session_of(self.run),
            journal_key=self.journal_key(),
            fingerprint=prompt.fingerprint,
        )

    def material(self) -> str:
        """What is written from, all of it fenced."""
        context = self.context
        lines = "\n\n".join(
            prompt_text.entry_line(one.id, context.when[one.id], one.content) for one in context.entries
        )
        memories = prompt_text.memory_lines(context.memories)
        return prompt_text.material(
            fence(lines, "diary"),
            fence(memories, "memories") if memories else "",
            context.first_on.isoformat(),
            context.last_on.isoformat(),
        )


def _written(judged: rules.Judged, *, is_ungrounded: bool = False) -> Written:
    return Written(
        judged.self_growth,
        judged.likes,
        judged.dislikes,
        [one.as_json() for one in judged.evidence],
        is_ungrounded,
        warnings=_unsourced(judged.unsourced, bool(judged.evidence)),
    )


def _unsourced(sentences: Sequence[int], has_evidence: bool) -> list[str]:
    if not has_evidence:
        return ["no evidence was given: every sentence is unsourced"]
    return [f"{len(sentences)} sentences name no diary entry"] if sentences else []
