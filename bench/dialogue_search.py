"""Search in dialogues: one person with 100,000 messages beside 400,000 of others, with and without the index.

`python -m bench.dialogue_search [N]`. Also what the index costs whoever saves a message.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bench import corpus, stores
from bench.timing import Line, measure, table

INDEX = "synth_message_words"
PER_DIALOGUE, N_CALLS, N_SAVES = 200, 7, 200
ROLES = ("user", "assistant")
# Each dialogue of the others gets the words of one of the person's own.
OTHERS = """
    WITH mine AS (SELECT id, row_number() OVER (ORDER BY id) n FROM synth_dialogue WHERE person_id = %s),
    theirs AS (SELECT id, row_number() OVER (ORDER BY id) n FROM synth_dialogue WHERE person_id <> %s)
    INSERT INTO synth_message
        (dialogue_id, role, content, metadata, status, fingerprint, dedupe_key, at, due_at, attempt)
    SELECT t.id, m.role, m.content, '{}', m.status, '', '', m.at, m.due_at, 0
    FROM theirs t JOIN mine ON mine.n = 1 + (t.n - 1) %% (SELECT count(*) FROM mine)
    JOIN synth_message m ON m.dialogue_id = mine.id
"""


def main(n: int = 100_000) -> None:
    """The table with the index, then the same without."""
    stores.begin()
    from django.db import connection

    person = filled(n)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE synth_message")
        cursor.execute("VACUUM ANALYZE synth_dialogue")
        cursor.execute(
            "SELECT pg_size_pretty(pg_relation_size(%s)), pg_size_pretty(pg_table_size('synth_message'))",
            [INDEX],
        )
        index, rows = cursor.fetchone()
        print(f"{n} messages of one person, {4 * n} of others: {rows}; the index {index}")
        print(table([*searches(person), saves(person)]))
        cursor.execute(f"DROP INDEX {INDEX}")
    print("\nwithout the index")
    print(table([*searches(person), saves(person)]))


def filled(n: int) -> Any:
    """Persons, dialogues and messages; gives the one who searches."""
    from django.db import connection

    from synth.models import Dialogue, Message
    from synth.services import agents, people

    agent = agents.create(slug="wren", name="Wren")
    rng = random.Random(3)
    texts = list(islice(sentences(rng), 20_000))
    persons = [people.ensure(f"p{k}") for k in range(5)]
    rows = [Dialogue(agent=agent, person=person) for person in persons for _ in range(n // PER_DIALOGUE)]
    Dialogue.objects.bulk_create(rows)
    for row in rows[: n // PER_DIALOGUE]:
        Message.objects.bulk_create(
            Message(dialogue=row, role=rng.choice(ROLES), content=" ".join(rng.choices(texts, k=2)))
            for _ in range(PER_DIALOGUE)
        )
    with connection.cursor() as cursor:
        cursor.execute(OTHERS, [persons[0].pk] * 2)
        cursor.execute("UPDATE synth_message SET content = content || ' quixotry' WHERE id %% 20011 = 0", [])
    return persons[0]


def sentences(rng: random.Random) -> Iterator[str]:
    """English ones, of ten words."""
    spoken = corpus.language("en")
    while True:
        yield spoken.sentence(rng, 10)


def searches(person: Any) -> Iterator[Line]:
    """A page of results with its snippets, by kind of question."""
    from synth import selectors
    from synth.services import dialogue_search as search

    def find(query: str) -> None:
        words = search.words_of(query)
        page = list(search.find(selectors.dialogues_of(person), words)[:51])
        search.snippets(page, words)

    spoken = corpus.language("en").words
    for what, query in {
        "a rare word": "quixotry",
        "a word nobody said": "zyzzyva",
        "a common word": spoken[3],
        "a usual word": spoken[900],
        "two usual words": f"{spoken[60]} {spoken[90]}",
        "two letters": "qu",
    }.items():
        yield measure(f"{what}: {query}", find, [query] * N_CALLS)


def saves(person: Any) -> Line:
    """Saving one message."""
    from synth.models import Dialogue, Message

    row = Dialogue.objects.filter(person=person)[0]
    texts = islice(sentences(random.Random(9)), N_SAVES)
    return measure(
        "saving a message",
        lambda text: Message.objects.create(dialogue=row, role="user", content=text),
        texts,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
