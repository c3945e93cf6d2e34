"""The right memory is among the first three, in every language."""

import pytest
from django.utils import timezone

from synth.models import Agent
from synth.services import memories
from synth.tests.memories.labelled import WORLD

pytestmark = pytest.mark.django_db


def test_questions_in_ten_languages_find_their_memory(capsys):
    agent = Agent.objects.create(slug="polyglot", name="Polyglot")
    at = timezone.now()
    rows = {
        (code, n): memories.write(agent, text=text, at=at)
        for code, (texts, _) in WORLD.items()
        for n, text in enumerate(texts)
    }
    hits: dict[str, list[bool]] = {}
    missed = []
    first = 0
    for code, (_, questions) in WORLD.items():
        for question, n in questions:
            found = [one.memory for one in memories.recall(agent, question, about=None, limit=3, at=at)]
            hit = rows[code, n] in found
            first += found[:1] == [rows[code, n]]
            hits.setdefault(code, []).append(hit)
            if not hit:
                missed.append((code, question, [row.text[:30] for row in found]))
    total = sum(map(len, hits.values()))
    good = sum(map(sum, hits.values()))
    with capsys.disabled():
        per = " ".join(f"{code} {sum(some)}/{len(some)}" for code, some in hits.items())
        print(f"\nrecall hit@3 {good}/{total}, first {first}/{total}: {per} {missed or ''}")
    assert total >= 60 and len(hits) == 10
    assert good >= 0.95 * total
    assert all(sum(some) >= len(some) - 1 for some in hits.values())
