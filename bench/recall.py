"""Recall among 100,000 memories of one agent: latency by kind of question, against three naive peers.

`python -m bench.recall [N]`. Peers answer the same questions in the same run on the same rows: PostgreSQL's
own `simple` full text with an index, ILIKE of each word, trigram similarity.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import partial

from bench import corpus, stores
from bench.timing import Line, measure, table
from synth.tests.memories.labelled import WORLD

PER_KIND = 60
SLOW_PEER_CALLS = 3


def questions(seed: int = 5) -> dict[str, list[str | list[str]]]:
    """Questions by kind, drawn from the vocabularies of the memories."""
    from synth.text import words

    rng = random.Random(seed)
    spoken = {code: corpus.language(code) for code in corpus.SHARES}
    found: dict[str, list[str | list[str]]] = {}

    def add(kind: str, make: Callable[[], str | list[str]]) -> None:
        found[kind] = [make() for _ in range(PER_KIND)]

    def rare(code: str) -> str:
        return spoken[code].words[int(200 + 4000 * rng.random())]

    def mistyped() -> str:
        word = ""
        while len(word) < 6:
            word = rare("en")
        at = rng.randrange(1, len(word) - 1)
        return rng.choice(
            [
                word[:at] + word[at + 1 :],
                word[:at] + "x" + word[at + 1 :],
                word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
            ]
        )

    def diary() -> list[str]:
        code = rng.choice(["en", "de", "ru"])
        return words.keywords([spoken[code].sentence(rng, 30) for _ in range(30)], 40)

    def question(code: str) -> str:
        text, word = spoken[code].sentence(rng, 6), rare(code)
        return f"{text}{word}?" if code in corpus.UNSPACED else f"{text} {word}?"

    for code, label in {
        "en": "English",
        "ja": "Japanese",
        "zh": "Chinese",
        "th": "Thai",
        "ru": "Russian",
    }.items():
        add(f"{label} question", partial(question, code))
        add(f"{label} rare word", partial(rare, code))
    add("two mistyped words", lambda: f"{mistyped()} {mistyped()}")
    add("very common words", lambda: " ".join(rng.sample(spoken["en"].words[:12], 3)))
    add(
        "very common characters",
        lambda: rng.choice(spoken["ja"].words[:14]) + rng.choice(spoken["ja"].words[:14]),
    )
    add("40 keywords of a week", diary)
    return found


def quality(what: str, find: Callable[[str], list[int]], rows: dict[tuple[str, int], int]) -> str:
    """How often the right memory is among the first three, among all the others: one line by language."""
    hits = {
        code: sum(rows[code, i] in find(question)[:3] for question, i in labelled)
        for code, (_, labelled) in WORLD.items()
    }
    total = sum(len(labelled) for _, labelled in WORLD.values())
    return f"hit@3 {what}: {sum(hits.values())}/{total} " + " ".join(
        f"{code} {n}" for code, n in hits.items()
    )


def main(n: int = 100_000) -> None:
    """Load, ask, print."""
    stores.begin()
    from bench.load import load
    from bench.peers import Peers
    from synth.models import Agent
    from synth.services import memories

    agent = Agent.objects.create(slug="bench", name="Bench")
    start = time.perf_counter()
    load(agent, corpus.memories(n))
    print(
        f"{n:,} memories of one agent in 10 languages, "
        f"loaded and indexed in {time.perf_counter() - start:.0f} s"
    )

    def ask(question: str | list[str]) -> object:
        return memories.recall(agent, question, about=None, limit=8)

    asked = questions()
    lines = [measure(kind, ask, some) for kind, some in asked.items()]
    every = Line("recall, all kinds", [ms for line in lines for ms in line.ms])
    print(table([*lines, every]))
    rows = {
        (code, i): memories.write(agent, text=text).pk
        for code, (texts, _) in WORLD.items()
        for i, text in enumerate(texts)
    }
    peers = Peers(agent.pk)
    sample = [q for some in asked.values() for q in some[:SLOW_PEER_CALLS]]
    ours = measure("ours, the same sample", ask, sample)
    print(table([ours, *peers.lines(sample)], ours))
    print(
        quality(
            "ours", lambda q: [one.memory.pk for one in memories.recall(agent, q, about=None, limit=3)], rows
        )
    )
    print(quality("full text simple, any word", peers.any_word, rows))
    print(quality("full text simple, all words", peers.all_words, rows))
    writes = measure(
        "write one memory",
        lambda one: memories.write(agent, text=one.text, tags=one.tags),
        corpus.memories(200, seed=9),
    )
    print(table([writes]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
