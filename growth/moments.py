"""Moments of a diary: single verbatim stretches, scored by how much of the week they hold."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources

from synth.text import words
from synth.text.sentences import spans

NO_EVIDENCE = ("recalled", "system")  # sources that quote the agent's own earlier words
MAX_CANDIDATES = 240
MAX_TEXT_CHARS = 60_000  # of one entry that is searched: its beginning and its end
_WIDE_CHARS, _NARROW_CHARS = 80, 190

_SUSPECT = re.compile(
    r"^\W*(?:system|assistant|user|developer|human|instructions?|prompt|admin)\s*[:：>\]]"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|all|your|instructions?|rules?|prompt)\b"
    r"|\b(?:ignora|ignorez|ignoriere|ignoreer|olvida|oublie|dimentica|vergiss|esqueça|игнорируй|забудь)\b"
    r"|(?:忽略|无视|無視|忘记|忘記|忘れ).{0,12}(?:指示|指令|命令|设定|設定|规则|prompt|プロンプト)"
    r"|(?:指示|指令|命令|プロンプト).{0,6}(?:無視|忽略|忘れ)|지시.{0,6}무시"
    r"|\byou are now\b|\bnew instructions?\b|\bsystem prompt\b|\bact as\b|\bjailbreak\b"
    r"|<[/|!a-z]|\[/?inst\]|```|\{\{|\}\}|\"[a-z_]+\"\s*:",
    re.IGNORECASE | re.DOTALL,
)
_LINK = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+|\[[^\]]*\]\([^)]*\)")
_MARKUP = re.compile(r"[*_`#|~<>{}\[\]\\=]")
_CLAUSE = re.compile(r"[,;:，、；：—–]\s*|\s+[-–—]\s+")
_QUOTED = re.compile('[“”"「」『』«»„]')
_CAPITAL = re.compile(r"(?<=[\w,;:'’)] )[^\W\d_]+")
_HONORIFIC = re.compile(
    "([\u4e00-\u9fff]{1,4}|[ァ-ヺー]{2,8})(?:さん|ちゃん|くん|君|先生)|[가-힣]{2,4}\\s?씨"
)
_NUMBER = re.compile(r"(?<!\w)\d{1,4}(?!\w)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One diary entry as the rules see it: `on` is its local date."""

    id: int
    on: date
    content: str
    source: str = "agent"


# Capitals inside a sentence that name a day, a month or a language rather than a person.
_NO_NAMES = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June July August "
    "September October November December Christmas Easter English Italian French Spanish German Japanese "
    "Mr Mrs Ms Dr God Internet Ok".split()
)
_TITLES = "Mr|Mrs|Ms|Miss|Dr|Aunt|Uncle|Signora?|Zi[ao]|Madame|Monsieur|Señora?|Doña|Dona|Senhora?|Opa|Oma"


@dataclass(frozen=True, slots=True)
class Moment:
    """A verbatim stretch of one entry. `is_suspect` when it reads like an order to a model."""

    entry_id: int
    on: date
    text: str
    tokens: frozenset[str]
    score: float
    is_suspect: bool


def moments(entries: Iterable[Entry]) -> list[Moment]:
    """The week's candidate moments, in diary order, at most `MAX_CANDIDATES` of the highest scores.

    Suspect ones are left out as long as there are others.
    """
    raw = [
        (entry, text, words.content_list(text))
        for entry in entries
        if entry.source not in NO_EVIDENCE
        for text in _stretches(searched(entry.content))
    ]
    # Entries with the same words are one moment, the first.
    raw = list({words.fold(item[1]): item for item in reversed(raw)}.values())[::-1]
    used = Counter(token for _, _, tokens in raw for token in set(tokens))
    found = [_moment(entry, text, tokens, used, len(raw)) for entry, text, tokens in raw]
    honest = [moment for moment in found if not moment.is_suspect] or found
    order = {moment: n for n, moment in enumerate(honest)}
    best = sorted(honest, key=lambda moment: (-moment.score, order[moment]))[:MAX_CANDIDATES]
    return sorted(best, key=lambda moment: order[moment])


def diverse(candidates: Sequence[Moment], limit: int, avoid: str = "") -> list[Moment]:
    """At most `limit` moments by maximal marginal relevance, in diary order.

    A moment loses by likeness to those already taken, by sharing their day, and by standing in `avoid`.
    """
    worth = {
        n: moment.score * (0.4 if avoid and moment.text.rstrip(".") in avoid else 1)
        for n, moment in enumerate(candidates)
    }
    near = dict.fromkeys(worth, 0.0)
    same_day = dict.fromkeys(worth, 0)
    taken: list[int] = []
    while worth and len(taken) < limit:
        best = max(worth, key=lambda n: worth[n] - 0.7 * near[n] - 0.42 * same_day[n])
        taken.append(best)
        del worth[best]
        for n in list(worth):
            near[n] = max(near[n], _likeness(candidates[n].tokens, candidates[best].tokens))
            same_day[n] += candidates[n].on == candidates[best].on
            if near[n] >= 0.5:  # the same thing said again
                del worth[n]
    return sorted((candidates[n] for n in sorted(taken)), key=lambda moment: moment.on)


def _likeness(a: Collection[str], b: Collection[str]) -> float:
    both = sum(1 for token in a if token in b)
    return both / (len(a) + len(b) - both) if both else 0.0


def searched(text: str) -> str:
    """What of a very long entry is looked at: its beginning and its end, at most `MAX_TEXT_CHARS`."""
    half = MAX_TEXT_CHARS // 2
    return text if len(text) <= MAX_TEXT_CHARS else text[:half] + "\n" + text[-half:]


def _stretches(text: str) -> list[str]:
    """Verbatim stretches of a text worth quoting: sentences, short ones with the next, long ones cut."""
    found: list[str] = []
    sentences = spans(text)
    n = 0
    while n < len(sentences):
        start, end = sentences[n]
        if n + 1 < len(sentences) and _belong_together(text, sentences[n], sentences[n + 1]):
            n += 1
            end = sentences[n][1]
        found.append(_cut(text[start:end]))
        n += 1
    return [one for one in found if one]


def _belong_together(text: str, one: tuple[int, int], two: tuple[int, int]) -> bool:
    """True for a very short sentence and its neighbour on the same line."""
    size = 12 if words.is_unspaced(text[one[0]]) else 28
    gap = text[one[1] : two[0]]
    near = "\n" not in gap and len(gap) <= 2 and two[1] - one[0] <= _limit(text[one[0]]) * 0.8
    pair = text[one[0] : two[1]]
    return near and one[1] - one[0] < size and not _SUSPECT.search(pair) and not _LINK.search(pair)


def _limit(first: str) -> int:
    return _WIDE_CHARS if words.is_unspaced(first) else _NARROW_CHARS


def _cut(sentence: str) -> str:
    """`sentence`, or its first clauses when it is too long to quote; "" when there is no clean cut."""
    limit = _limit(sentence[0])
    if len(sentence) <= limit:
        return sentence
    ends = [mark.start() for mark in _CLAUSE.finditer(sentence, 0, limit)]
    spaces = [n for n in range(limit // 2, limit) if sentence[n].isspace()]
    end = ends[-1] if ends and ends[-1] >= limit // 4 else (spaces[-1] if spaces else limit)
    return sentence[:end].rstrip(" ,;:，、")


def _moment(entry: Entry, text: str, tokens: list[str], used: Counter[str], n: int) -> Moment:
    score = _salience(text, tokens, used, n)
    return Moment(entry.id, entry.on, text, frozenset(tokens), score, is_suspect(text))


def _salience(text: str, tokens: list[str], used: Counter[str], n: int) -> float:
    """0 … about 2: rarity, names, concreteness and feelings, less what reads badly in a quote."""
    wide = bool(text) and words.is_unspaced(text[0])
    rarity = sum(math.log(1 + n / used[token]) for token in set(tokens)) / math.log(2 + n)
    full = 14 if wide else 9
    score = min(rarity, full) / full
    score += 0.25 * min(len(names(text)), 2)
    score += 0.25 * min(len(feelings(text)), 2)
    score += 0.1 * bool(_NUMBER.search(text)) + 0.1 * (len(_QUOTED.findall(text)) == 2)
    score -= 0.8 * bool(_LINK.search(text)) + 0.15 * min(len(_MARKUP.findall(text)), 6)
    score -= 0.3 * (len(_QUOTED.findall(text)) % 2) + 0.2 * text.endswith(("?", "？"))
    score -= 0.3 * (text.isupper() and len(text) > 8)
    short = 8 if wide else 25
    return score - (0.5 if len(text) < short else 0.0)


def is_suspect(text: str) -> bool:
    """True for text that reads like an order to a language model, a role label or markup."""
    return _SUSPECT.search(text) is not None


def is_plain(text: str) -> bool:
    """True for text without links, markup or quotation marks."""
    return not (_LINK.search(text) or _MARKUP.search(text) or _QUOTED.search(text))


def names(text: str) -> list[str]:
    """Likely names: capitals inside a sentence, words with 〜さん or 씨. Over-generous for German."""
    found = [word for word in _CAPITAL.findall(text) if word[0].isupper() and word[1:].islower()]
    return found + [match[0] for match in _HONORIFIC.finditer(text)]


def feelings(text: str) -> list[str]:
    """Feeling words and stems in `text`."""
    return _feelings().findall(words.fold(text))


@lru_cache(maxsize=1)
def _feelings() -> re.Pattern[str]:
    data: dict[str, str] = json.loads(
        resources.files("growth").joinpath("data/feelings.json").read_text("utf-8")
    )
    stems = sorted({words.fold(stem) for group in data.values() for stem in group.split()})
    unspaced = [stem for stem in stems if words.is_unspaced(stem[0]) or "\uac00" <= stem[0] <= "\ud7a3"]
    spaced = [stem for stem in stems if stem not in unspaced]
    return re.compile(r"\b(?:" + "|".join(spaced) + r")\w{0,4}\b|" + "|".join(unspaced))


def _titled(name: str, text: str) -> str:
    """ "Mrs Okafor" where the diary mostly writes it so."""
    titled = Counter(re.findall(rf"(?<!\w)(?:{_TITLES})\.? {re.escape(name)}(?!\w)", text))
    best, n = titled.most_common(1)[0] if titled else (name, 0)
    return best if 2 * n >= text.count(name) else name


@dataclass(frozen=True, slots=True)
class Recurring:
    """A name and the entries that hold it, on `n_days` different days."""

    name: str
    n_days: int
    entry_ids: tuple[int, ...]


def recurring_names(entries: Sequence[Entry], own_name: str = "") -> list[Recurring]:
    """Names that come up on at least two days and a third of the written days, most days first.

    Only where a capital inside a sentence marks a name: never for German or inflected Cyrillic.
    """
    text = "\n".join(entry.content for entry in entries)[:MAX_TEXT_CHARS]
    tongues = words.languages_of(piece for piece, _ in words.pieces(text))[:1]
    if tongues in (("de",), ("ru",), ("uk",), ("bg",), ("pl",), ("cs",), ("hr",), ("fi",), ("hu",)):
        return []
    lowered = set(re.findall(r"(?<!\w)[^\W\d_A-Z]\w+", text))
    counts = Counter(name for name in names(text) if name not in _NO_NAMES and name.lower() not in lowered)
    n_days = len({entry.on for entry in entries})
    found: list[Recurring] = []
    for name, _ in counts.most_common(12):
        if words.fold(name) == words.fold(own_name):
            continue
        holds = re.compile(
            rf"(?<!\w){re.escape(name)}(?!\w)" if not words.is_unspaced(name[0]) else re.escape(name)
        )
        having = [entry for entry in entries if holds.search(entry.content)]
        days = len({entry.on for entry in having})
        if days >= 2 and days * 3 >= n_days >= 3:
            found.append(Recurring(_titled(name, text), days, tuple(entry.id for entry in having)))
    return sorted(found, key=lambda one: -one.n_days)
