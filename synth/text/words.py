"""Words of any language as plain lists: tokens to search with, content tokens to compare texts by.

Pure and deterministic; safe on any string, lone surrogates included. Spaced scripts give words, scripts
written without spaces (Han, Kana, Thai, Khmer, Lao, Myanmar) give single characters and bigrams.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources

# Letters and marks of scripts written without spaces between words.
UNSPACED = (
    "\u3005-\u3007\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana, 々
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eb9\u0ebb-\u0ecd\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u17d7\u17dc"  # Myanmar, Khmer
)
# Vowel signs and accents are part of a word, but Python's \w leaves them out.
_MARKS = "".join(
    chr(c)
    for c in (
        *range(0x300, 0x370),
        *range(0x483, 0x488),
        *range(0x591, 0x800),
        *range(0x8D3, 0xE00),
        *range(0xF00, 0xFC7),
        *range(0xA8C0, 0xAC00),
    )
    if unicodedata.category(chr(c)) in ("Mn", "Mc")
)
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_PIECE = re.compile(rf"([{UNSPACED}]+)|((?:(?![{UNSPACED}])[^\W_])(?:(?![{UNSPACED}])[^\W_]|[{_MARKS}])*)")
_LATIN_GREEK_MARKS = re.compile("(?<=[a-z\u0370-\u03ff])[\u0300-\u036f]+")
_OPTIONAL_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]")
_NOT = re.compile("(?<=n)['\u2019\u02bc](?=t\\b)")
_FOLD = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "ı": "i",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ς": "σ",
        "\u0451": "\u0435",
        "\u00ad": None,
        "\u200b": None,
        "\u200c": None,
        "\u200d": None,
        "\ufeff": None,
    }
)
_HANGUL = re.compile("[\uac00-\ud7a3]{2,}")
# Korean particles glued to nouns, longest first, so that "지민이랑" and "지민은" meet at "지민".
_JOSA = re.compile(
    "(?:에게서|한테서|으로서|으로는|에서는|에서도|이랑은|에게|한테|에서|으로|까지|부터|처럼|보다|이랑|하고|이나|에는|에도|와는|과는"
    "|은|는|이|가|을|를|의|에|와|과|도|로|만|랑)$"
)


def is_unspaced(ch: str) -> bool:
    """True for one character of a script written without spaces between words."""
    return _UNSPACED_CHAR.match(ch) is not None


def fold(text: str) -> str:
    """`text` for comparison: NFKC, case folded, Latin and Greek accents and optional points removed."""
    flat = unicodedata.normalize("NFKC", text).casefold()
    if not flat.isascii():
        parted = unicodedata.normalize("NFD", flat.translate(_FOLD))
        parted = _LATIN_GREEK_MARKS.sub("", parted)
        flat = unicodedata.normalize("NFC", _OPTIONAL_POINTS.sub("", parted)).translate(_FOLD)
    return _NOT.sub("", flat)


def pieces(text: str) -> list[tuple[str, bool]]:
    """Runs of folded `text` in order, each with True when it belongs to an unspaced script."""
    return [(run or word, bool(run)) for run, word in _PIECE.findall(fold(text))]


def stem(word: str) -> str:
    """A folded Korean word without the particle glued to it; any other word unchanged."""
    if _HANGUL.fullmatch(word) is None:
        return word
    found = _JOSA.search(word)
    bare = word[: found.start()] if found else word
    # One syllable is left only after a longer word: 나이 (age) must not become 나 (I).
    return bare if len(bare) >= 2 or len(word) >= 3 and bare else word


def tokens(text: str) -> list[str]:
    """Recall tokens of `text` in reading order, repeats kept.

    Words of spaced scripts (a Korean word also without its particle); single letters and bigrams for runs
    of unspaced scripts. Nothing is dropped as a stop word, so "the who" still finds The Who.
    """
    found: list[str] = []
    for piece, unspaced in pieces(text):
        if unspaced:
            found.extend(ch for ch in piece if ch.isalpha())
            found.extend(map("".join, zip(piece, piece[1:], strict=False)))
        else:
            found.append(piece)
            bare = stem(piece)
            if bare != piece:
                found.append(bare)
    return found


@lru_cache(maxsize=1)
def stopwords() -> dict[str, frozenset[str]]:
    """Folded function words by language code (ISO 639-1)."""
    return {
        language: frozenset(piece for piece, _ in pieces(words))
        for language, words in _data().items()
        if isinstance(words, str) and not language.startswith("_")
    }


@lru_cache(maxsize=1)
def function_phrases() -> dict[str, frozenset[str]]:
    """Folded function phrases of unspaced scripts by language code ("です", "的时候")."""
    phrases = _data()["_phrases"]
    assert isinstance(phrases, dict)
    return {language: frozenset(fold(words).split()) for language, words in phrases.items()}


def languages_of(words: Iterable[str]) -> tuple[str, ...]:
    """Languages the function words among `words` point to, best first; () when there is none.

    Languages with about as many distinct hits as the best count too: a short text is read in all languages
    it may be in, while "Ben" in an English page is not taken for the Turkish "I". A sentence has few hits and
    many look-alikes, so there the others need three quarters of the best, else half.
    """
    hits = Counter(language for word in set(words) for language in _stop_index().get(word, ()))
    if not hits:
        return ()
    best = max(hits.values())
    ranked = sorted(hits.items(), key=lambda hit: (-hit[1], hit[0]))
    share = 0.75 if 4 <= best < 12 else 0.5
    return tuple(language for language, n in ranked if n >= share * best)


def content_tokens(text: str, language: str = "") -> set[str]:
    """What `text` is about: words without function words, bigrams for unspaced scripts.

    Short names survive ("Jay", "Ana", "李"); digits alone do not. Single Latin letters are dropped. The
    languages are guessed from the function words; `language` (ISO 639-1, "pt-BR" too) adds one for sure.
    """
    return set(content_list(text, language))


def content_list(text: str, language: str = "") -> list[str]:
    """`content_tokens` in reading order, repeats kept."""
    parts = pieces(text)
    active = set(languages_of(piece for piece, unspaced in parts if not unspaced))
    active |= {language[:2].lower()} & stopwords().keys()
    stop = frozenset[str]().union(*(stopwords()[code] for code in active))
    found: list[str] = []
    for piece, unspaced in parts:
        if unspaced:
            found.extend(content_bigrams(piece))
        elif piece not in stop and _carries(bare := stem(piece)) and bare not in stop:
            found.append(bare)
    return found


def content_bigrams(run: str) -> list[str]:
    """Bigrams of one unspaced run that carry content; a run of one character is kept as it is."""
    functions, chars, covers = _function_bigrams()
    if len(run) == 1:
        return [run] if run.isalpha() and run not in chars else []
    both = list(map("".join, zip(run, run[1:], strict=False)))
    if "\u0e00" <= run[0] <= "\u17ff":
        # Alphabets: every bigram also occurs by chance, so only those inside function words are dropped.
        covered = [False] * len(run)
        for found in covers.finditer(run):
            covered[found.start() : found.end()] = [True] * len(found[0])
        return [b for n, b in enumerate(both) if not (covered[n] and covered[n + 1])]
    return [b for b in both if b not in functions and not (b[0] in chars and b[1] in chars)]


def keywords(texts: Iterable[str], limit: int) -> list[str]:
    """At most `limit` content tokens of all `texts`, the most telling first.

    Frequent tokens win, longer words break ties, then order of appearance.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(content_list(text))
    order = {token: n for n, token in enumerate(counts)}
    ranked = sorted(counts, key=lambda token: (-counts[token], -len(token), order[token]))
    return ranked[: max(limit, 0)]


def _carries(word: str) -> bool:
    """False for bare numbers and for a single letter of an alphabet."""
    if len(word) == 1:
        return not word.isascii() and not word.isdigit() and unicodedata.category(word) == "Lo"
    return not word.isdigit()


@lru_cache(maxsize=1)
def _data() -> dict[str, str | dict[str, str]]:
    text = resources.files("synth.text").joinpath("data/stopwords.json").read_text("utf-8")
    loaded: dict[str, str | dict[str, str]] = json.loads(text)
    return loaded


@lru_cache(maxsize=1)
def _stop_index() -> dict[str, tuple[str, ...]]:
    index: dict[str, list[str]] = {}
    for language, words in stopwords().items():
        for word in words:
            index.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in index.items()}


@lru_cache(maxsize=1)
def _function_bigrams() -> tuple[frozenset[str], frozenset[str], re.Pattern[str]]:
    """Bigrams inside function phrases, characters that carry nothing together, Thai-like function words."""
    chars = _data()["_function_chars"]
    assert isinstance(chars, str)
    phrases = sorted((p for group in function_phrases().values() for p in group), key=lambda p: (-len(p), p))
    bigrams = (a + b for phrase in phrases for a, b in zip(phrase, phrase[1:], strict=False))
    alphabetic = [re.escape(phrase) for phrase in phrases if "\u0e00" <= phrase[0] <= "\u17ff"]
    return frozenset(bigrams), frozenset(chars), re.compile("|".join(alphabetic))
