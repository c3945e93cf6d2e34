"""Likes and dislikes a diary states outright ("I love …", "…が好き"), with their sentence."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from growth.lists import key
from growth.moments import NO_EVIDENCE, Entry, is_suspect, searched
from synth.text import words
from synth.text.sentences import spans

MAX_WORDS = 8
_OPENING, _CLOSING = "“«„「『", "”»」』"
# "this word", "そんなところ": what is meant stands elsewhere, so it says nothing in a list.
_POINTING = re.compile(
    r"(?:these|those|such|quest[oaie]|quell[oaie]|quel|dies\w*|jene\w*|cet(?:te)?|ces?|est[aeo]s?|es[aeo]s?|ess[ae]s?|deze|dit"
    r"|этот?|эту|эти|та(?:кой|кую|кие)|같은|이|그|저) |[こそあ][のれ]|こんな|そんな|あんな|[这那此這]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Taste:
    """Something the diary says it likes or dislikes: the bare item and the verbatim sentence."""

    item: str
    is_like: bool
    entry_id: int
    sentence: str


def stated(entries: Iterable[Entry]) -> list[Taste]:
    """Tastes stated outright, in diary order, each item once.

    Conservative: no questions, no wishes ("I would like"), nothing another person says in quotation marks.
    """
    found: dict[tuple[str, bool], Taste] = {}
    for entry in entries:
        text = searched(entry.content)
        if entry.source in NO_EVIDENCE or not any(p.search(text) for p, _ in _patterns()):
            continue
        for start, end in spans(text):
            for taste in _of_sentence(text[start:end], entry):
                found.setdefault((key(taste.item), taste.is_like), taste)
    return list(found.values())


def _of_sentence(sentence: str, entry: Entry) -> list[Taste]:
    if is_suspect(sentence) or sentence.endswith(("?", "？")):
        return []
    found: list[Taste] = []
    taken: list[tuple[int, int]] = []
    # Dislikes first: "non mi piace" holds "mi piace".
    for pattern, is_like in _patterns():
        for match in pattern.finditer(sentence):
            a, b = match.span()
            item = match["x"].strip(" \t*_`'\"").strip()
            if (
                any(a < y and x < b for x, y in taken)
                or not _usable(item, sentence)
                or _is_quoted(sentence[:a])
            ):
                continue
            taken.append((a, b))
            found.append(Taste(item, is_like, entry.id, sentence))
    return found


def _usable(item: str, sentence: str) -> bool:
    """True for a short item with a content word, as the languages of its sentence have it."""
    says = not words.content_tokens(sentence).isdisjoint(words.tokens(item))
    return len(item.split()) <= MAX_WORDS and says and not _POINTING.match(item)


def _is_quoted(before: str) -> bool:
    """True when a quotation is still open at the end of `before`."""
    opened = sum(before.count(ch) for ch in _OPENING) - sum(before.count(ch) for ch in _CLOSING)
    return opened > 0 or before.count('"') % 2 == 1


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Compiled patterns, the ones for dislikes first; True marks a like."""
    data: dict[str, dict[str, list[str]]] = json.loads(
        resources.files("growth").joinpath("data/tastes.json").read_text("utf-8")
    )
    return tuple(
        (re.compile(pattern), kind == "like")
        for kind in ("dislike", "like")
        for group in data.values()
        for pattern in group[kind]
    )
