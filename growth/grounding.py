"""Is a reflection about this week? A verdict from what it shares with the week's diary, in any language."""

import json
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from synth.text import words

# Characters in a row that only chance would not repeat: two Han are a word, five Thai letters may be one.
_IDEOGRAPH = re.compile("[\u3005\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_THAI_LIKE_CHARS = 5
_MAX_SHARED = 40


@dataclass(frozen=True, slots=True)
class Grounding:
    """A verdict. `why` is "" for a grounded text, else one plain sentence for the run and the trainer."""

    is_abstract: bool
    why: str
    shared: tuple[str, ...]
    n_content: int
    markers: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The row form kept among a run's guards."""
        return {
            "guard": "grounding",
            "is_abstract": self.is_abstract,
            "why": self.why,
            "shared": list(self.shared),
            "n_content": self.n_content,
            "markers": list(self.markers),
        }


def verdict(
    text: str, diary_texts: Iterable[str], language: str = "", extra_markers: Sequence[str] = ()
) -> Grounding:
    """Whether `text` is abstract, judged against the diary of its week.

    Abstract: it holds a filler marker, or shares too few content tokens with the diary. A marker counts also
    where the diary has it: the text must say what happened instead.
    `diary_texts` hold no reflections quoted back (source recalled or system): the caller leaves them out.
    """
    diary = "\n".join(diary_texts)
    markers = find_markers(text, extra_markers)
    mine = dict.fromkeys(words.content_list(text, language))
    theirs = words.content_tokens(diary, language)
    shared, n_diary = _shared(text, mine, diary, theirs)
    n_strong = _n_words(mine)
    n_shared = sum(map(_weight, shared))
    needed = min(_needed(n_strong), max(n_diary, 1))
    if markers:
        why = f"filler: {markers[0]}"
    elif n_shared < needed:
        why = f"shares {n_shared} of {n_strong} telling words with the diary, {needed} are needed"
    else:
        why = ""
    return Grounding(bool(why), why, shared, len(mine), markers)


def find_markers(text: str, extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Filler markers in `text`, in order of appearance."""
    return tuple(dict.fromkeys(_marker_pattern(tuple(extra)).findall(_flat(text))))


def _n_words(tokens: Iterable[str]) -> int:
    """About how many telling words stand behind content tokens: a word is two Han bigrams, five Thai ones."""
    strong = _strong(tokens)
    thai = sum(1 for token in strong if _is_thai_like(token))
    ideographic = sum(1 for token in strong if words.is_unspaced(token[0])) - thai
    return len(strong) - thai - ideographic + math.ceil(ideographic / 2 + thai / 5)


def _weight(shared: str) -> int:
    """About how many words one shared stretch holds."""
    if _is_thai_like(shared):
        return max(1, len(shared) // 8)
    return max(1, round(len(shared) / 3)) if words.is_unspaced(shared[0]) else 1


def _is_thai_like(text: str) -> bool:
    return "\u0e00" <= text[0] <= "\u17ff"


def _needed(n_strong: int) -> int:
    """How many telling words a text must share: more for longer texts, where some are shared by chance."""
    if n_strong <= 1:
        return 1
    if n_strong <= 8:
        return 2
    return min(max(3, math.ceil(n_strong * 0.12)), 8)


def _shared(text: str, mine: Collection[str], diary: str, theirs: set[str]) -> tuple[tuple[str, ...], int]:
    """What both say, for a reader, and how much there was in the diary to be shared."""
    strong = _strong(theirs)
    if not theirs:
        # Nothing but signs or numbers in the diary: only its very words can be evidence.
        lines = [line.strip() for line in diary.splitlines() if line.strip()]
        return tuple(line for line in lines if line in text)[:_MAX_SHARED], 1
    if not strong:
        return tuple(token for token in mine if token in theirs)[:_MAX_SHARED], len(theirs)
    spaced = _Forms(token for token in strong if not words.is_unspaced(token[0]))
    found = [token for token in _strong(mine) if not words.is_unspaced(token[0]) and spaced.has(token)]
    found += _shared_runs(text, diary)
    return tuple(dict.fromkeys(found))[:_MAX_SHARED], len(strong)


class _Forms:
    """Words that also know their inflected forms: Маша and Машей, walk and walked, Jays and Jay."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = set(tokens)
        self.by_start: dict[str, list[str]] = {}
        for token in self.tokens:
            self.by_start.setdefault(token[:3], []).append(token)

    def has(self, token: str) -> bool:
        """True when `token` or another form of it is among the words."""
        alike = self.by_start.get(token[:3], ())
        return token in self.tokens or any(_same_word(token, other) for other in alike)


def _same_word(a: str, b: str) -> bool:
    """A common beginning long enough for two forms of one word; three letters suffice outside Latin."""
    longer = max(len(a), len(b))
    least = 4 if a.isascii() or a[0] < "\u0370" else 3
    common = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return common >= least and common >= 0.57 * longer and longer - common <= 4


def _shared_runs(text: str, diary: str) -> list[str]:
    """Stretches of unspaced text both use, function and weak bigrams aside."""
    theirs = [run for run, unspaced in words.pieces(diary) if unspaced]
    if not theirs:
        return []
    sizes = (1, 2, 3, _THAI_LIKE_CHARS)
    grams = {run[n : n + size] for run in theirs for size in sizes for n in range(len(run))}
    found: list[str] = []
    for run, unspaced in words.pieces(text):
        if unspaced:
            found += _runs_of(run, grams)
    return found


def _runs_of(run: str, grams: Collection[str]) -> list[str]:
    """Maximal stretches of `run` made of content n-grams that are among `grams`."""
    content = set(_strong(words.content_bigrams(run)))
    if len(run) == 1:
        return [run] if run in content and run in grams else []
    covered = [False] * len(run)
    for n in range(len(run) - 1):
        size = _size(run, n)
        gram = run[n : n + size]
        inside = {gram[i : i + 2] for i in range(size - 1)}
        if len(gram) == size and gram in grams and len(inside & content) >= max(1, size - 2):
            covered[n : n + size] = [True] * size
    marks = "".join("1" if one else "0" for one in covered)
    return [run[found.start() : found.end()] for found in re.finditer("1+", marks)]


def _size(run: str, n: int) -> int:
    """How many characters from `n` on must agree: 2 with an ideograph, 3 for kana, 5 for alphabets."""
    if _is_thai_like(run[n]):
        return _THAI_LIKE_CHARS
    return 2 if _IDEOGRAPH.search(run[n : n + 2]) else 3


def _strong(tokens: Iterable[str]) -> list[str]:
    """The tokens that are not said in every week of everyone."""
    weak = _weak()
    return [token for token in tokens if token not in weak]


@lru_cache(maxsize=1)
def _weak() -> frozenset[str]:
    """Words that are in every diary and in every vague note, as content tokens (bigrams where unspaced)."""
    weak: set[str] = set()
    for group in _load("weak_words.json").values():
        for piece, unspaced in words.pieces(group):
            weak.add(words.stem(piece))
            if unspaced:
                weak.update(map("".join, zip(piece, piece[1:], strict=False)))
    return frozenset(weak)


@lru_cache(maxsize=8)
def _marker_pattern(extra: tuple[str, ...]) -> re.Pattern[str]:
    shipped = (marker for group in _load("filler_markers.json").values() for marker in group)
    markers = {_flat(marker) for marker in (*shipped, *extra)}
    bounded = [_bounded(marker) for marker in sorted(markers - {""}, key=lambda m: (-len(m), m))]
    return re.compile("|".join(bounded))


def _bounded(marker: str) -> str:
    """A marker as a pattern that matches whole words only, where the script has them."""
    spaced = not words.is_unspaced(marker[0]) and not "\uac00" <= marker[0] <= "\ud7a3"
    return rf"(?<!\w){re.escape(marker)}(?!\w)" if spaced else re.escape(marker)


def _flat(text: str) -> str:
    """Folded text on one line with plain apostrophes."""
    return " ".join(words.fold(text).replace("\u2019", "'").split())


@lru_cache(maxsize=4)
def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(resources.files("growth").joinpath("data", name).read_text("utf-8"))
    return loaded
