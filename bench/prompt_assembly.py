"""Prompt assembly with every registered layer: the whole prompt, a cold database connection each time or not.

`python -m bench.prompt_assembly [N]`. The bar is a 95th percentile of 15 ms. The peer is plain concatenation
of the same texts, which is what a fixed template would cost: it shows the price of layers, budgets, fences
and fingerprints.
"""

from __future__ import annotations

import sys

from bench import stores
from bench.timing import Line, measure, table

CALLS = 300
BAR_MS = 15.0
SENTENCE = "You keep the lighthouse with Jay, repair radios with copper wire and write down the weather. "


def run(n_calls: int = CALLS) -> list[Line]:
    """Chat prompts of one agent with a long persona, full lists and ten past selves."""
    from django.db import connection

    from growth.services import states
    from synth.models import Agent
    from synth.prompts import assemble

    agent = Agent.objects.create(
        slug="bench-prompt",
        name="Wren",
        persona=SENTENCE * 200,
        likes=[f"thing number {n}" for n in range(60)],
        dislikes=[f"noise number {n}" for n in range(60)],
    )
    for n in range(10):
        states.manual_edit(agent, content=f"{n}. {SENTENCE * 20}", by=None, door="command")

    def cold(_: int) -> None:
        connection.close()
        assemble(agent, "chat")

    texts = [part.text for part in assemble(agent, "chat").parts]
    chars = sum(map(len, texts))
    return [
        measure("assemble", lambda _: assemble(agent, "chat"), range(n_calls), f"{chars} characters"),
        measure("assemble, new database connection", cold, range(n_calls)),
        measure("peer: joined strings", lambda _: "\n\n".join(texts), range(n_calls)),
    ]


def main() -> int:
    """Print the table; 1 when the bar is missed."""
    stores.begin()
    lines = run(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
    print(table(lines, lines[0]))
    print(f"bar: p95 {lines[0].p95:.2f} ms of {BAR_MS} ms")
    return 0 if lines[0].p95 <= BAR_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
