"""What judgments add to the core's registries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from judgments.declared import CONTEXT_CANDIDATE, CORE
from synth import registries

if TYPE_CHECKING:
    from synth.models import Agent
    from synth.services.memories import Scored

MAX_TALK_CHARS = 2_000
MAX_MEMORY_CHARS = 4_000


def register() -> None:
    """Called once when Django starts."""
    from judgments.api.asgi import OwnThreads
    from judgments.backends import local
    from judgments.services import purge

    asgi = OwnThreads()
    for prefix in ("/v1/systemone", "/v1/decisions"):
        registries.asgi_routes.add(prefix, asgi)
    registries.erasers.add("judgments.runs", purge.erase)
    registries.model_runners.add(local.KIND, local.make_runner)
    registries.recall_rerankers.add("judgments.candidate", look_at_candidate)
    registries.demo_seeders.add("judgments.core_in_audit", core_in_audit)


def core_in_audit(agent: Agent, *, at: datetime, **_: Any) -> None:
    """The demo looks at the judgments of the core without acting on them; settings that exist stay."""
    from judgments.services import settings

    for name in CORE:
        settings.start_in(name, "audit")


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
