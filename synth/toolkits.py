"""Toolkits: named sets of actions, one a dialogue. `allows` says whether a dialogue's kit has an action.

    register(Toolkit("calendar", "Schedules, todos and reminders.", frozenset({"reminder_create"})))

An action may also name the kits it belongs to (`Action.toolkits`); then it is in these and not in `default`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.actions import Action
    from synth.models import Dialogue

DEFAULT = "default"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
RESERVED = frozenset({"none"})  # what a suggestion answers where no kit fits


@dataclass(frozen=True)
class Toolkit:
    """`text` tells people, and those who suggest kits, what it is for.

    `actions=None`: all without a kit of their own. Actions that name the kit themselves are in it too.
    """

    name: str
    text: str
    actions: frozenset[str] | None = frozenset()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            raise ValueError(f"toolkit {self.name!r}: small letters, digits and _ only, and not 'none'")

    def has(self, action: Action) -> bool:
        """Whether the kit has the action."""
        if self.name in action.toolkits:
            return True
        return not action.toolkits if self.actions is None else action.name in self.actions


_toolkits: dict[str, Toolkit] = {}


def register(toolkit: Toolkit) -> None:
    """Add a kit; called from an app's `ready()`. A name added twice is a programming error."""
    if toolkit.name in _toolkits:
        raise ValueError(f"toolkit {toolkit.name} is registered twice")
    _toolkits[toolkit.name] = toolkit


def unregister(name: str) -> None:
    """Take a kit out again; for tests."""
    _toolkits.pop(name, None)


def registered() -> Iterator[Toolkit]:
    """Every kit, `default` first, the others by name."""
    return iter(sorted(_toolkits.values(), key=lambda kit: (kit.name != DEFAULT, kit.name)))


def get(name: str) -> Toolkit | None:
    """The kit of that name, or None."""
    return _toolkits.get(name)


def allows(dialogue: Dialogue | None, action: Action) -> bool:
    """Whether the dialogue's kit has the action; without a dialogue, the default kit.

    A kit whose app is gone has nothing: a dialogue never gets more than was chosen for it.
    """
    kit = _toolkits.get(DEFAULT if dialogue is None else dialogue.toolkit)
    return kit is not None and kit.has(action)


def register_core() -> None:
    """Called from `SynthConfig.ready()`."""
    reading = {"memory_read", "memory_list"}
    register(Toolkit(DEFAULT, "Everything the agent can do.", None))
    register(Toolkit("talk", "Only talk; no actions at all."))
    register(
        Toolkit(
            "companion",
            "Talk in which the agent looks up and keeps what it knows about this person, and nothing else.",
            frozenset(reading | {"memory_write"}),
        )
    )
    register(
        Toolkit(
            "memory_care",
            "Tidying the agent's memories: looking through them, rewriting and forgetting some.",
            frozenset(reading | {"memory_write", "memory_forget"}),
        )
    )
