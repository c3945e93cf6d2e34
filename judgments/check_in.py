"""Asks at each check-in of a long turn whether it makes progress (`check-in.progress`); never acted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judgments.declared import CHECK_IN_PROGRESS
from judgments.services import labels, later
from synth.services import dialogues

if TYPE_CHECKING:
    from synth.models import Message
    from synth.turns import Turn


class CheckInWatcher:
    """The core's `Watcher`: the ask waits on a worker, what the person chose is a weak label."""

    def __call__(self, turn: Turn, answer: Message) -> None:
        """The end of a turn says nothing about its progress."""

    def check_in(self, turn: Turn, state: dict[str, Any]) -> str | None:
        """Ask in the background; the run's id, None where nothing will be saved."""
        if turn.dialogue is None:
            return None
        session = dialogues.session(turn.dialogue)
        return later.judge_later(CHECK_IN_PROGRESS, state, session=session, agent=turn.agent)

    def said(self, run: str, value: str, *, by: str) -> None:
        """A nudge asks for a status and keeping on may be habit: all of these weigh little."""
        labels.label(run, value, by=by, strength="weak")
