"""Finds a person's dialogues by their titles and by what was said in them, with a line around the words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import BooleanField, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Concat

from synth.models import Dialogue, Message, MessageRole, MessageStatus
from synth.services import fields

MAX_CHARS = 200
MAX_WORDS = 8
MANY = 1_000
SNIPPET_CHARS = 160
BEFORE_CHARS = 50
_TRIGRAM = re.compile(r"[^\W_]{3}")  # what the index can look for
SAID = (MessageRole.USER, MessageRole.ASSISTANT, MessageRole.PROACTIVE)


class Holds(Func):
    """Whether a column holds a pattern, ignoring case. Unlike `icontains` it can use a trigram index."""

    template = "%(expressions)s"
    arg_joiner = " ILIKE "
    output_field = BooleanField()


def words_of(query: str) -> list[str]:
    """The words that are looked for; none of a blank query. Invalid for what no text can hold."""
    text = fields.text(query, "q", max_chars=MAX_CHARS)
    return list(dict.fromkeys(text.split()))[:MAX_WORDS]


def find(rows: QuerySet[Dialogue], words: Sequence[str]) -> QuerySet[Dialogue]:
    """Those of `rows` whose title, or one message on any branch, holds all the words, ignoring case.

    Where few messages do, the index knows them. Else dialogue after dialogue is looked through: a page of
    them is soon full.
    """
    if any(_TRIGRAM.search(word) for word in words):
        own = _whole(Message.objects.filter(dialogue__in=rows.order_by().values("pk")))
        held = own.filter(_all("content", words)).order_by()
        few = list(held.values_list("dialogue", flat=True)[: MANY + 1])
        if len(few) <= MANY:
            return rows.filter(_all("title", words) | Q(pk__in=set(few)))
    # Not EXISTS: the planner may turn that into a look through every message.
    found = rows.alias(found=Subquery(_inside(words).order_by().values("pk")[:1]))
    return found.filter(_all("title", words) | Q(found__isnull=False))


def snippets(rows: Iterable[Dialogue], words: Sequence[str]) -> dict[UUID, str]:
    """By dialogue, a line from the newest message that holds the words; none where only the title does."""
    newest = _inside(words).order_by("-at", "-pk").values("content")[:1]
    texts = Dialogue.objects.filter(pk__in=[row.pk for row in rows]).annotate(text=Subquery(newest))
    found = texts.order_by().values_list("pk", "text")
    return {pk: snippet(text, words) for pk, text in found if text is not None}


def snippet(content: str, words: Sequence[str]) -> str:
    """One line of at most 160 characters around the first of the words."""
    line = " ".join(content.split())
    places = (re.search(re.escape(word), line, re.IGNORECASE) for word in words)
    at = min((found.start() for found in places if found), default=0)
    start = 0 if at <= BEFORE_CHARS else at - BEFORE_CHARS
    if start and (edge := line.find(" ", start, at)) > 0:
        start = edge + 1
    end = start + SNIPPET_CHARS
    return ("…" if start else "") + line[start:end].rstrip() + ("…" if end < len(line) else "")


def _whole(rows: QuerySet[Message]) -> QuerySet[Message]:
    """What was said, and is no longer being written; the trigram index holds just these."""
    return rows.exclude(status=MessageStatus.STREAMING).filter(role__in=SAID)


def _inside(words: Sequence[str]) -> QuerySet[Message]:
    """The messages of the outer query's dialogue that hold the words, found without the trigram index, which
    would be read whole once for each dialogue.
    """
    plain = Concat("content", Value(""), output_field=TextField())
    return (
        _whole(Message.objects.filter(dialogue=OuterRef("pk")))
        .alias(plain=plain)
        .filter(_all("plain", words))
    )


def _all(column: str, words: Sequence[str]) -> Q:
    found = Q()
    for word in words:
        plain = re.sub(r"([\\%_])", r"\\\1", word)
        found &= Q(Holds(F(column), Value(f"%{plain}%")))
    return found
