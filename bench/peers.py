"""Three naive ways to find memories on a copy of the same rows: full text `simple`, ILIKE, trigrams."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from bench.timing import Line, measure

_FULL_TEXT = """
    SELECT id, ts_rank(to_tsvector('simple', text), q) AS r FROM bench_plain, {query} q
    WHERE to_tsvector('simple', text) @@ q ORDER BY r DESC, id DESC LIMIT 8"""
_ILIKE = "SELECT id FROM bench_plain WHERE {tests} ORDER BY id DESC LIMIT 8"
_SIMILAR = "SELECT id, word_similarity(%s, text) AS r FROM bench_plain ORDER BY r DESC, id DESC LIMIT 8"


def words_of(question: str | Sequence[str]) -> list[str]:
    """The words of a question as a plain program would cut them."""
    text = question if isinstance(question, str) else " ".join(question)
    return [word for word in text.replace("?", " ").split() if word]


class Peers:
    """The copy of an agent's rows and the three ways to ask it."""

    def __init__(self, agent_id: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS bench_plain")
            cursor.execute(
                "CREATE TABLE bench_plain AS SELECT id, name || ' ' || tags::text || ' ' || text AS text "
                "FROM synth_memory WHERE agent_id = %s",
                [agent_id],
            )
            cursor.execute("CREATE INDEX ON bench_plain USING gin (to_tsvector('simple', text))")
            cursor.execute("ANALYZE bench_plain")

    def lines(self, questions: Sequence[str | Sequence[str]]) -> list[Line]:
        """All three, timed on the same questions."""
        return [
            measure("full text simple, all words (websearch)", self.all_words, questions),
            measure("full text simple, any word", self.any_word, questions),
            measure("ILIKE, any word", self.ilike, questions),
            measure("trigram similarity", self.similar, questions),
        ]

    def all_words(self, question: str | Sequence[str]) -> list[int]:
        """What websearch_to_tsquery finds: every word must be there."""
        return self._ids(
            _FULL_TEXT.format(query="websearch_to_tsquery('simple', %s)"), [" ".join(words_of(question))]
        )

    def any_word(self, question: str | Sequence[str]) -> list[int]:
        """The same with OR between the words."""
        return self._ids(
            _FULL_TEXT.format(query="websearch_to_tsquery('simple', %s)"), [" or ".join(words_of(question))]
        )

    def ilike(self, question: str | Sequence[str]) -> list[int]:
        """Rows that contain any of the words as text, the newest first."""
        found = words_of(question)
        return self._ids(
            _ILIKE.format(tests=" OR ".join(["text ILIKE %s"] * len(found))), [f"%{w}%" for w in found]
        )

    def similar(self, question: str | Sequence[str]) -> list[int]:
        """Rows most similar to the question by trigrams."""
        return self._ids(_SIMILAR, [" ".join(words_of(question))])

    def _ids(self, sql: str, params: list[str]) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return [row[0] for row in cursor.fetchall()]
