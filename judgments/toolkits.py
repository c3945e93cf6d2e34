"""Suggests a toolkit for a dialogue's first prompt (`toolkit.suggest`); learns what the person made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgments.declared import TOOLKIT_SUGGEST
from judgments.models import Run
from judgments.results import Result
from judgments.services import labels, later, runs
from judgments.typed import ChoiceAnswer
from synth.services import dialogues, toolkits

if TYPE_CHECKING:
    from synth.models import Dialogue

THEN = "judgments.toolkit_answered"
LEAST_P = 0.5  # a kit less likely than that is no suggestion


class ToolkitSuggester:
    """The core's `Suggester`. In audit the answer is only kept; in mode on it is shown to the person."""

    def __call__(self, dialogue: Dialogue, prompt: str, kits: dict[str, str]) -> None:
        state = {"message": prompt, "toolkits": kits}
        later.judge_later(
            TOOLKIT_SUGGEST, state, session=dialogues.session(dialogue), then=THEN, agent=dialogue.agent
        )

    def said(self, run: str, value: str, *, is_shown: bool) -> None:
        """A choice made without having seen the suggestion weighs less."""
        labels.label(run, value, by="user", strength="strong" if is_shown else "weak")


@later.handler(THEN)
def answered(result: Result) -> None:
    """Keep the most likely kit with the dialogue, unless none fits well."""
    answer = result.answer() if result.answers else None
    if not isinstance(answer, ChoiceAnswer) or result.run_id is None:
        return
    run = Run.objects.filter(pk=runs.parse_id(result.run_id)[1]).only("session_id").first()
    kind, _, dialogue_id = (run.session_id if run else "").partition(":")
    if kind != "dialogue" or answer.choice == "none" or answer.probabilities[answer.choice] < LEAST_P:
        return
    is_shown = result.mode == "on"
    if toolkits.suggest(dialogue_id, answer.choice, result.run_id, is_shown=is_shown):
        labels.acted(result.run_id, "shown" if is_shown else "audit", by="toolkits")
