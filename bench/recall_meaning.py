"""Recall by words and meaning together, against words alone: what it finds and what it costs.

`python -m bench.recall_meaning [N]`. Needs torch and the encoder. The labelled world, its questions in other
words or another language, and phrases of the heads' seeds beside them are read by the real encoder; the other
N memories get vectors by lot, which cost as much to search. Figures of the encoder are processor time of one
thread.
"""

from __future__ import annotations

import json
import random
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import corpus, stores
from bench.recall import questions
from bench.timing import measure, table
from synth.tests.memories.labelled import WORLD
from synth.tests.memories.paraphrased import HELD_OUT, TUNED, Row

if TYPE_CHECKING:
    from synth.models import Agent
    from synth.recall.meaning import Meaning

PHRASES = 500
SEEDS = Path(__file__).parents[1] / "judgments" / "data" / "seeds.json"
LABELLED: list[Row] = [(code, text, code, i) for code, (_, asked) in WORLD.items() for text, i in asked]


def phrases(value: Any) -> list[str]:
    """Every sentence of the seeds, each once."""
    if isinstance(value, str):
        return [value] if len(value) > 20 else []
    found = value.values() if isinstance(value, dict) else value
    return list(dict.fromkeys(text for one in found for text in phrases(one)))


class Encoder:
    """The encoder of the torch worker, in this process."""

    def __init__(self) -> None:
        import torch

        from judgments.ml import encoders
        from judgments.ml.embedding import Embedding

        torch.set_num_threads(1)
        self.embedding = Embedding(encoders.load_e5())

    def __call__(self, texts: list[str], side: str) -> list[Meaning]:
        """The meanings of the texts, by the same door as over the wire."""
        from synth.recall import meaning

        found: list[Meaning] = []
        for start in range(0, len(texts), 32):
            some = texts[start : start + 32]
            (answer,) = self.embedding.run([{"texts": some, "side": side}])
            assert isinstance(answer, dict)
            found += meaning.read(answer, len(some))
        return found


def by_lot(n: int, model: str) -> list[Meaning]:
    """Vectors of length one that mean nothing: twelve numbers are drawn and the rest follows from them."""
    from synth.recall.meaning import DIMS, Meaning, pack

    rng, found = random.Random(4), []
    some = [[rng.gauss(0, 1) for _ in range(DIMS)] for _ in range(64)]
    for _ in range(n):
        a, b = rng.sample(some, 2)
        weight = rng.random()
        numbers = [x + weight * y for x, y in zip(a, b, strict=True)]
        length = sum(x * x for x in numbers) ** 0.5
        found.append(Meaning(model, pack([x / length for x in numbers])))
    return found


def fill(agent: Agent, n: int, read: Encoder) -> dict[tuple[str, int], int]:
    """The memories of both kinds with their vectors; ids of the labelled ones by language and number."""
    from django.db import connection

    from bench.load import load
    from synth.models import Memory
    from synth.recall import near
    from synth.services import memories

    load(agent, corpus.memories(n))
    lot = by_lot(min(n, 5_000), read.embedding.model)
    made = list(Memory.objects.order_by("pk").values_list("pk", "at"))
    columns = "memory_id, agent_id, about_id, at, model, vector, signs"
    with (
        connection.cursor() as cursor,
        cursor.cursor.copy(f"COPY synth_memoryvector ({columns}) FROM STDIN") as copy,
    ):
        for i, (pk, at) in enumerate(made):
            one = lot[i % len(lot)]
            copy.write_row((pk, agent.pk, 0, at, one.model, one.packed, one.signs))
    rows = {
        (code, i): memories.write(agent, text=text).pk
        for code, (texts, _) in WORLD.items()
        for i, text in enumerate(texts)
    }
    for text in random.Random(1).sample(phrases(json.loads(SEEDS.read_text(encoding="utf-8"))), PHRASES):
        memories.write(agent, text=text)
    missing = near.missing(2**62, 10_000)
    start = time.process_time()
    for unread, meaning in zip(missing, read([one.text for one in missing], "passage"), strict=True):
        near.save(unread, meaning)
    each_ms = 1000 * (time.process_time() - start) / len(missing)
    print(f"{n:,} memories by lot, {len(missing)} read by the encoder, {each_ms:.1f} ms each")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE synth_memoryvector")
    return rows


def quality(agent: Agent, rows: dict[tuple[str, int], int], read: Encoder) -> None:
    """How often the right memory is among the first one, three, ten; by words, and with meaning."""
    from synth.services import memories

    for what, asked in (("the same words", LABELLED), ("other words, tuned", TUNED), ("held out", HELD_OUT)):
        meant = read([row[1] for row in asked], "query")
        for how in ("words", "words and meaning"):
            places = []
            for row, meaning in zip(asked, meant, strict=True):
                used = None if how == "words" else meaning
                found = memories.recall(agent, row[1], about=None, limit=10, meaning=used)
                ids = [scored.memory.pk for scored in found]
                wanted = rows[row[2], row[3]]
                places.append(ids.index(wanted) if wanted in ids else 99)
            at = " ".join(f"hit@{k} {sum(place < k for place in places):3}" for k in (1, 3, 10))
            print(f"{what:22} {how:20} {at} of {len(asked)}")


def times(agent: Agent, read: Encoder) -> None:
    """What recall costs, and reading a question."""
    from synth.recall import near
    from synth.services import memories

    asked = [text for some in questions().values() for text in islice(some, 12)]
    meant = read([text if isinstance(text, str) else " ".join(text) for text in asked], "query")

    def recall(i: int, is_meant: bool) -> object:
        return memories.recall(agent, asked[i], about=None, limit=3, meaning=meant[i] if is_meant else None)

    lines = [
        measure("recall by words", lambda i: recall(i, False), range(len(asked))),
        measure("recall by words and meaning", lambda i: recall(i, True), range(len(asked))),
        measure("of it the nearest", lambda i: near.nearest(agent.pk, None, meant[i], []), range(len(asked))),
        measure("look for missing vectors", lambda _: near.missing(2**62, 200), range(10)),
        measure(
            "a question read by the encoder",
            lambda text: read.embedding.run([{"texts": [text], "side": "query"}]),
            [row[1] for row in HELD_OUT],
            clock=time.process_time,
        ),
    ]
    print(table(lines, lines[0]))


def main(n: int = 100_000) -> None:
    """Load, ask, print."""
    stores.begin()
    from synth.models import Agent

    agent = Agent.objects.create(slug="bench", name="Bench")
    read = Encoder()
    quality(agent, fill(agent, n, read), read)
    times(agent, read)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
