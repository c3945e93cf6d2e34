"""A model's reply judged: the reflection if it is one, and its evidence as far as the diary bears it out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth.text.sentences import sentences
from synth.text.words import content_tokens

MAX_CHARS = 2000
MAX_EVIDENCE = 60
MAX_QUOTE_CHARS = 500
KEYS = ("self_growth", "likes", "dislikes", "evidence")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE = re.compile("[\\s\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff\ufffd]+")
_ALIKE = ("'’‘ʼ`´′", '"“”„‟«»″', "-‐‑‒–—―−")
_ALIKE_CLASS = {ch: "[" + re.escape(group) + "]" for group in _ALIKE for ch in group}
_ATOM = re.compile(r"\s+|…|\.{3}|.", re.DOTALL)
_WRAPPING = ' \t\r\n"“”„‟«»「」『』…'


@dataclass(frozen=True, slots=True)
class DiaryText:
    """One diary entry as evidence may quote it."""

    id: int
    content: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of the reflection (0-based) borne out by words that stand in the diary."""

    sentence: int
    quote: str
    diary_ids: tuple[int, ...]

    def as_json(self) -> dict[str, object]:
        """The row form, `{sentence, quote, diary_ids}`."""
        return {"sentence": self.sentence, "quote": self.quote, "diary_ids": list(self.diary_ids)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged reply. `problem` is "" or "bad_shape"; with a problem only `detail` and `notes` mean anything.

    `likes` and `dislikes` are what the reply said, unread (see `growth.lists.read_list`); None = not said.
    """

    problem: str = ""
    detail: str = ""
    self_growth: str = ""
    likes: object = None
    dislikes: object = None
    evidence: tuple[Evidence, ...] = ()
    unsourced: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def judge(value: object, diary: Sequence[DiaryText]) -> Judged:
    """What the parsed reply `value` is worth. Never raises, whatever JSON it is given."""
    if not isinstance(value, Mapping):
        return Judged("bad_shape", "the reply is not a JSON object")
    text = value.get("self_growth")
    if not isinstance(text, str):
        return Judged("bad_shape", "self_growth is missing or not text")
    text = _UNSTORABLE.sub("\ufffd", text).strip()
    if not _INVISIBLE.sub("", text):
        return Judged("bad_shape", "self_growth is blank")
    if len(text) > MAX_CHARS:
        return Judged("bad_shape", f"self_growth has {len(text)} characters, at most {MAX_CHARS} are allowed")
    n_sentences = len(sentences(text))
    evidence, notes = verify(value.get("evidence"), n_sentences, diary)
    return Judged(
        self_growth=text,
        likes=value.get("likes"),
        dislikes=value.get("dislikes"),
        evidence=evidence,
        unsourced=unsourced(evidence, n_sentences),
        notes=notes,
    )


def unsourced(evidence: Sequence[Evidence], n_sentences: int) -> tuple[int, ...]:
    """Indices of the sentences no evidence stands for."""
    sourced = {one.sentence for one in evidence}
    return tuple(n for n in range(n_sentences) if n not in sourced)


def verify(
    claimed: object, n_sentences: int, diary: Sequence[DiaryText]
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """The claimed evidence that holds, quotes as the diary writes them, and notes on what was dropped.

    A quote has to stand in an entry, spaces and quote styles aside. Entry ids are corrected to where it does.
    """
    if claimed is None:
        return (), ()
    items = [claimed] if isinstance(claimed, Mapping) else claimed
    if not isinstance(items, list | tuple):
        return (), ("evidence is not a list; every sentence is unsourced",)
    found: dict[tuple[int, str], Evidence] = {}
    notes: list[str] = []
    for n, item in enumerate(items[:MAX_EVIDENCE]):
        one = _verify_one(item, n_sentences, diary)
        if isinstance(one, str):
            notes.append(f"evidence {n}: {one}")
        else:
            found.setdefault((one.sentence, one.quote), one)
    if len(items) > MAX_EVIDENCE:
        notes.append(f"only the first {MAX_EVIDENCE} pieces of evidence were read")
    return tuple(sorted(found.values(), key=lambda one: one.sentence)), tuple(notes)


def find_quote(quote: str, text: str) -> str | None:
    """`quote` as it stands in `text`, or None; spaces, quote marks, dashes and "..." may differ."""
    wanted = quote.strip(_WRAPPING).removeprefix("...").removesuffix("...").strip()
    if not wanted or len(wanted) > MAX_QUOTE_CHARS:
        return None
    if wanted in text:
        return wanted
    found = re.search("".join(map(_atom_pattern, _ATOM.findall(wanted))), text)
    return found[0] if found else None


def _verify_one(item: object, n_sentences: int, diary: Sequence[DiaryText]) -> Evidence | str:
    """One verified piece of evidence, or why it does not hold."""
    if not isinstance(item, Mapping):
        return "not an object"
    sentence, quote = _integer(item.get("sentence")), item.get("quote")
    if sentence is None or not 0 <= sentence < n_sentences:
        return "no such sentence"
    # A short quote's language is a guess ("el mar" may be Hungarian), so a longer one always counts.
    if not isinstance(quote, str) or not (content_tokens(quote) or len(quote.strip()) >= 6):
        return "no quote that says anything"
    claimed = item.get("diary_ids")
    ids = {_integer(one) for one in (claimed if isinstance(claimed, list | tuple) else [claimed])}
    hits = [(entry.id, found) for entry in diary if (found := find_quote(quote, entry.content))]
    if not hits:
        return "the quote is not in the diary"
    named = [hit for hit in hits if hit[0] in ids]
    # Without a right id the first entry that has the words is the source.
    chosen = named or hits[:1]
    return Evidence(sentence, chosen[0][1], tuple(dict.fromkeys(entry_id for entry_id, _ in chosen)))


def _integer(value: object) -> int | None:
    """An index or id a model wrote as 3, 3.0 or "3"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,18}\s*", value):
        return int(value)
    return None


def _atom_pattern(atom: str) -> str:
    if atom.isspace():
        return r"\s+"
    if atom in ("…", "..."):
        return r"(?:…|\.{3})"
    return _ALIKE_CLASS.get(atom) or re.escape(atom)
