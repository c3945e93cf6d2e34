"""What an agent has spent on language models today, and whether it may spend more.

A day is a UTC day. The cap is the agent's own, else the server's (LLM_DAILY_TOKENS); 0 means none. The call
that crosses the cap still ends; the next one is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection

from synth.llm.reasons import LlmError

if TYPE_CHECKING:
    from synth.models import Agent

# In SQL, because a person waits: every call asks.
_SPENT = """
SELECT coalesce(sum(n_prompt_tokens), 0) + coalesce(sum(n_completion_tokens), 0)
FROM synth_llmcall WHERE agent_id = %s AND at >= %s
"""


def cap(agent: Agent) -> int:
    """Tokens a day this agent may spend; 0: no cap."""
    own = agent.daily_token_cap
    return int(settings.LLM_DAILY_TOKENS) if own is None else own


def spent_today(agent: Agent, at: datetime) -> int:
    """Prompt and completion tokens of the agent's calls in the UTC day of `at`."""
    start = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, [agent.pk, start])
        return int(cursor.fetchone()[0])


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
