"""Among 100,000 memories recall gives what scoring every single one would give, or as good."""

from collections import Counter

import pytest

from bench import corpus
from bench.load import load
from bench.recall import questions
from synth.models import Agent, Memory
from synth.recall import lexemes, query, rank, search, store
from synth.services import memories

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(900)]
N = 100_000
AT = corpus.START.replace(year=2025, month=6)
LIMIT = 8
PER_KIND = 1
GAP = 0.05


def oracle(agent, slots, wanted, rows):
    """The best of all rows by the pure rules alone."""
    counts = Counter(term for *_, held in rows for term in held)
    weighed = query.weigh(slots, counts, len(rows))
    ask = {term for slot in weighed for term, _ in slot.options}
    ask |= {lexemes.HEAD + term for term in ask}
    every = (rank.Candidate(pk, at, n, held & ask) for pk, at, n, held in rows)
    return rank.Ranking(weighed, AT).best(every, LIMIT)


def test_recall_agrees_with_scoring_every_memory():
    agent = Agent.objects.create(slug="bench", name="Bench")
    load(agent, corpus.memories(N))
    asked = {kind: some[:PER_KIND] for kind, some in questions().items()}
    parsed = {}
    for some in asked.values():
        for question in some:
            slots = query.parse(question)
            counts = store.counts(agent.pk, [slot.word for slot in slots])
            parsed[str(question)], _ = search.mend(agent.pk, slots, counts)
    wanted = {term for slots in parsed.values() for slot in slots for term, _ in slot.options}
    wanted |= {lexemes.HEAD + term for term in wanted}
    rows = [
        (row.pk, row.at, row.n_tokens, wanted.intersection(lexemes.terms(row.name, row.tags, row.text)))
        for row in Memory.objects.defer("search").iterator(chunk_size=5000)
    ]
    for kind, some in asked.items():
        for question in some:
            found = memories.recall(agent, question, about=None, limit=LIMIT, at=AT)
            best = oracle(agent, parsed[str(question)], wanted, rows)
            assert len(found) == len(best), (kind, question)
            exact = {one.id: score for one, score in best}
            for rank_of, (mine, (_, wanted_score)) in enumerate(zip(found, best, strict=True)):
                assert exact.get(mine.memory.pk, mine.score) == pytest.approx(mine.score, abs=1e-9)
                # Exact where a question has a rare word. The bound is for texts of nothing but common words.
                assert wanted_score - mine.score <= GAP, (kind, question, rank_of)
