"""What judgments add to the core's registries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from judgments.declared import CONTEXT_CANDIDATE, CORE
from synth import registries

if TYPE_CHECKING:
    from synth.models import Agent, Message
    from synth.services.memories import Scored
    from synth.turns import Turn

MAX_TALK_CHARS = 2_000
MAX_MEMORY_CHARS = 4_000


def register() -> None:
    """Called once when Django starts."""
    from judgments import approvals
    from judgments.api.asgi import OwnThreads
    from judgments.backends import local
    from judgments.check_in import CheckInWatcher
    from judgments.services import purge
    from judgments.toolkits import ToolkitSuggester
    from synth.services import meanings

    asgi = OwnThreads()
    for prefix in ("/v1/systemone", "/v1/decisions"):
        registries.asgi_routes.add(prefix, asgi)
    registries.erasers.add("judgments.runs", purge.erase)
    registries.approval_judges.add("judgments.allow", approvals.judge)
    registries.model_runners.add(local.KIND, local.make_runner)
    registries.model_runners.add(meanings.KIND, local.make_runner)  # the same model, loaded once
    registries.recall_rerankers.add("judgments.candidate", look_at_candidate)
    registries.turn_observers.add("judgments.candidate", ask_about_talk)
    registries.turn_observers.add("judgments.check_in", CheckInWatcher())
    registries.toolkit_suggesters.add("judgments.toolkit", ToolkitSuggester())
    registries.demo_seeders.add("judgments.core_in_audit", core_in_audit)


def core_in_audit(agent: Agent, *, at: datetime, **_: Any) -> None:
    """The demo looks at the judgments of the core without acting on them; settings that exist stay."""
    from judgments.services import settings

    for name in CORE:
        settings.start_in(name, "audit")


def ask_about_talk(turn: Turn, answer: Message) -> None:
    """After a turn: recall for what the person said once more, in the dialogue's session, so that the best
    memory is looked at. The prompt's own recall only reads.
    """
    from judgments.services import settings
    from synth.services import dialogues, memories

    said, dialogue = turn.message, turn.dialogue
    if said is None or dialogue is None or turn.is_retake or settings.mode_of(CONTEXT_CANDIDATE) == "off":
        return
    talk = said.content[:MAX_TALK_CHARS]
    memories.recall(turn.agent, talk, about=turn.person, limit=1, session=dialogues.session(dialogue))


def look_at_candidate(agent: Agent, talk: str, found: Sequence[Scored], *, session: str) -> Sequence[Scored]:
    """Ask whether the best memory bears on what the person talks about; the order stays as it was.

    Only in dialogues: what an agent looks up for itself is not what somebody talks about.
    """
    from judgments.services import later, settings
    from judgments.session import kind_of

    if kind_of(session) != "dialogue" or settings.mode_of(CONTEXT_CANDIDATE) == "off":
        return found
    state = {"memory": found[0].memory.text[:MAX_MEMORY_CHARS], "talk": talk[:MAX_TALK_CHARS]}
    later.judge_later(CONTEXT_CANDIDATE, state, session=session, agent=agent)
    return found
