"""One turn of an agent as actions and openers see it: who started it, where, with what rights."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.models import Agent, Dialogue, Message, Person


@dataclass
class Turn:
    """`person` started the turn (None: background work); `message` is what they said in `dialogue`.

    `is_trainer` is membership in the agent's trainers, narrowed by the key the person came with; an operator
    who is no trainer is not one. `notes` is where openers leave what they found, by `app.word`
    (`notes["growth.decision"] = "approve"`). `is_retake` is True when an old message is answered anew: then
    nobody has just said it, and openers do not run.

    `untrusted` is what the model was shown so far that neither the server nor the person wrote (diary,
    memories, results, notes of clients); `own_words` is what the person said in this dialogue. `manuals`
    describe the tools of an outside client.
    """

    agent: Agent
    person: Person | None
    dialogue: Dialogue | None
    message: Message | None
    started_at: datetime
    is_trainer: bool = False
    is_operator: bool = False
    door: str = "chat"
    is_retake: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    untrusted: list[str] = field(default_factory=list)
    own_words: list[str] = field(default_factory=list)
    manuals: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What audit entries about this turn name as their object."""
        if self.message is not None:
            return f"synth.message:{self.message.pk}"
        if self.dialogue is not None:
            return f"synth.dialogue:{self.dialogue.pk}"
        return f"synth.agent:{self.agent.pk}"

    def still_trained_by_person(self) -> bool:
        """Whether the person is a trainer by the database as it is now, and was when the turn began."""
        if not self.is_trainer or self.person is None:
            return False
        return bool(self.agent.trainers.filter(pk=self.person.pk, archived_at=None).exists())
