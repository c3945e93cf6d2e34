"""Made-up memories with the word statistics of real ones: a Zipf vocabulary per language, always the same.

The most frequent words of a spaced language are its real function words; the others are invented from its
letters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from synth.text import words

N_WORDS = 20_000
START = datetime(2024, 1, 1, tzinfo=UTC)
SHARES = {"en": 30, "ja": 15, "zh": 15, "th": 10, "de": 6, "es": 6, "ru": 6, "ko": 4, "ar": 4, "fr": 4}
LETTERS = {
    "en": ("bcdfghklmnprstvw", "aeiou"),
    "de": ("bdfghklmnprstwz", "aeiouäöü"),
    "fr": ("bcdfglmnprstv", "aeiouéè"),
    "es": ("bcdfglmnprstv", "aeiouáó"),
    "ru": ("бвгдзклмнпрст", "аеиоуыя"),
    "ar": ("بتجدرسعفقكلمنه", "اوي"),
    "ko": ("가나다라마바사아자하", "강논달림민봄산우진훈"),
    "th": ("กขคงจชดตทนบปพมยรลวสห", "าะเแโ"),
}
FUNCTIONS = {
    "ja": [
        "の",
        "に",
        "は",
        "を",
        "た",
        "が",
        "で",
        "て",
        "と",
        "し",
        "です",
        "ます",
        "から",
        "こと",
        "ました",
    ],
    "zh": [
        "的",
        "了",
        "在",
        "是",
        "我",
        "有",
        "和",
        "就",
        "不",
        "人",
        "我们",
        "今天",
        "一个",
        "他们",
        "没有",
    ],
    "th": ["ที่", "และ", "ใน", "เป็น", "มี", "ได้", "ว่า", "ของ", "ไม่", "ไป"],
}
UNSPACED = ("ja", "zh", "th")


@dataclass
class Language:
    """A vocabulary whose n-th word comes up in proportion to 1/n."""

    code: str
    words: list[str]
    weights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weights = list(accumulate(1 / (n + 2.7) for n in range(len(self.words))))

    def sentence(self, rng: random.Random, n: int) -> str:
        """`n` drawn words, with or without spaces between them."""
        drawn = rng.choices(self.words, cum_weights=self.weights, k=n)
        if self.code in UNSPACED:
            return "".join(drawn) if self.code != "th" else "".join(drawn) + " "
        return " ".join(drawn)


def language(code: str) -> Language:
    """The vocabulary of one language."""
    rng = random.Random(f"vocabulary {code}")
    known = FUNCTIONS.get(code) or sorted(words.stopwords()[code])[:150]
    made: dict[str, None] = dict.fromkeys(known)
    while len(made) < N_WORDS:
        made[_word(code, rng)] = None
    return Language(code, list(made))


def _word(code: str, rng: random.Random) -> str:
    if code in ("ja", "zh"):
        # Characters follow a Zipf law of their own: 2,500 in use, a few everywhere.
        return "".join(
            chr(0x4E00 + int(2500 * rng.random() ** 2)) for _ in range(rng.choice((1, 2, 2, 2, 3)))
        )
    first, second = LETTERS[code]
    return "".join(rng.choice(first) + rng.choice(second) for _ in range(rng.choice((1, 2, 2, 3, 3, 4))))


@dataclass(frozen=True)
class Made:
    """One made-up memory."""

    code: str
    name: str
    tags: list[str]
    text: str
    at: datetime


def memories(n: int, seed: int = 1) -> Iterator[Made]:
    """`n` memories in order of time, languages mixed by `SHARES`; a tenth has names."""
    rng = random.Random(seed)
    languages = {code: language(code) for code in SHARES}
    for i in range(n):
        code = rng.choices(list(SHARES), weights=list(SHARES.values()))[0]
        spoken = languages[code]
        text = spoken.sentence(rng, max(4, min(400, int(rng.lognormvariate(3.3, 0.6)))))
        name = f"note-{i} {spoken.sentence(rng, 2)}"[:60].strip() if rng.random() < 0.1 else ""
        tags = [f"topic{int(200 * rng.random() ** 2)}"]
        yield Made(code, name, tags, text, START + timedelta(minutes=7 * i))
