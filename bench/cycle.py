"""A cycle without the model's own time: 200,000 characters of diary, 100,000 memories.

`python -m bench.cycle [N_MEMORIES]`. The host answers at once, so what is timed is looking back, building the
prompt, the guards and the commit. The composer's cycle is timed beside it, and looking back alone.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any

from bench import corpus, stores
from bench.timing import measure, table

N_CYCLES = 12
DIARY_CHARS = 200_000
NOTE = "I walked with Jay to the lighthouse, and we mended the copper kettle by lamplight in the greenhouse."


def live(agent: Any, n_chars: int = DIARY_CHARS) -> int:
    """Fill the last week with entries, `n_chars` characters in all; the number of entries."""
    from django.utils import timezone

    from synth.services import diary

    texts = [memory.text for memory in corpus.memories(4000, seed=3)]
    noon = timezone.now().replace(hour=12)
    n_written = n_entries = 0
    while n_written < n_chars:
        text = " ".join(texts[(n_entries * 7 + n) % len(texts)] for n in range(7))[:2000] + f" {NOTE}"
        diary.write(agent, content=text, at=noon - timedelta(days=1 + n_entries % 7, minutes=n_entries))
        n_written += len(text)
        n_entries += 1
    return n_entries


def main(n_memories: int = 100_000) -> None:
    """Load, reflect, print."""
    stores.begin()
    from django.test import override_settings
    from django.utils import timezone

    from bench.load import load
    from growth.models import GrowthRun
    from growth.services import context, cycle, effective, runs
    from synth.models import Agent
    from synth.testing.scripted_host import ScriptedHost

    agent = Agent.objects.create(slug="bench", name="Bench")
    load(agent, corpus.memories(n_memories))
    n_entries = live(agent)
    print(f"{n_entries} diary entries, {DIARY_CHARS:,} characters; {n_memories:,} memories")

    def reflect(_: int) -> None:
        run = runs.request(agent, by=None, door="command")
        cycle.run_waiting()
        run.refresh_from_db()
        assert run.status == "applied", (run.status, run.reason, run.detail)

    def look_back(_: int) -> None:
        now = timezone.now()
        context.build(GrowthRun(agent=agent, created_at=now, started_at=now), effective.effective(agent))

    answer = json.dumps({"self_growth": NOTE})
    with ScriptedHost([answer], repeat_last=True) as host, host.installed(LLM_DAILY_TOKENS=0):
        modelled = measure("a cycle, host answers at once", reflect, range(N_CYCLES))
    with override_settings(LLM_BASE_URL=None):
        composed = measure("a cycle, the composer writes", reflect, range(N_CYCLES))
    print(table([modelled, composed, measure("looking back alone", look_back, range(N_CYCLES))]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
