"""What an agent has spent on language models today, and whether it may spend more.

A day is a UTC day. The cap is the agent's own, else the server's (LLM_DAILY_TOKENS); 0 means none. The call
that crosses the cap still ends; the next one is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Coalesce

from synth.llm.reasons import LlmError
from synth.models import LlmCall

if TYPE_CHECKING:
    from synth.models import Agent


def cap(agent: Agent) -> int:
    """Tokens a day this agent may spend; 0: no cap."""
    own = agent.daily_token_cap
    return int(settings.LLM_DAILY_TOKENS) if own is None else own


def spent_today(agent: Agent, at: datetime) -> int:
    """Prompt and completion tokens of the agent's calls in the UTC day of `at`."""
    start = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    sums = LlmCall.objects.filter(agent=agent, at__gte=start).aggregate(
        prompt=Coalesce(Sum("n_prompt_tokens"), 0), completion=Coalesce(Sum("n_completion_tokens"), 0)
    )
    return int(sums["prompt"]) + int(sums["completion"])


def check(agent: Agent | None, at: datetime) -> None:
    """LlmError `spend_cap` when the agent's tokens for today are spent."""
    if agent is None or not (limit := cap(agent)):
        return
    spent = spent_today(agent, at)
    if spent >= limit:
        raise LlmError("spend_cap", f"{spent} of {limit} tokens are used; the day ends at 00:00 UTC.")


def estimate(text: str) -> int:
    """Tokens of a text where the host gave no count: a quarter of its UTF-8 bytes."""
    return -(-len(text.encode()) // 4)
