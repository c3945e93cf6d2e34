"""Likes and dislikes: what a reply says about a list becomes a clean list, or leaves the old one alone."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ITEMS = 50
MAX_ITEM_CHARS = 200
_SEPARATORS = str.maketrans({mark: "," for mark in ";\n\r、，；،؛"})
_BULLETS = "-*•·–— \t"


@dataclass(frozen=True, slots=True)
class ListReading:
    """The list to use, whether it differs in content from the current one, and notes for the run."""

    items: tuple[str, ...]
    is_changed: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListDiff:
    """What a list gained and lost, in list order; both empty when only the order differs."""

    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """True when the two lists hold the same items, in whatever order."""
        return not self.added and not self.removed

    def lines(self) -> list[str]:
        """Lines as shown to a trainer: "+ tea", "− noise", or "no changes"."""
        marked = [f"+ {item}" for item in self.added] + [f"\u2212 {item}" for item in self.removed]
        return marked or ["no changes"]


def key(item: str) -> str:
    """What two items share when they are the same item: width, case and spaces do not count."""
    return " ".join(unicodedata.normalize("NFKC", item).casefold().split())


def read_list(value: object, current: Sequence[str], *, may_clear: bool = False) -> ListReading:
    """The list a reply's `value` means, given the `current` one.

    Missing and null keep; a list replaces wholesale; text is split at commas; a number, boolean or object
    keeps. An empty outcome clears only when `may_clear` (an approved proposal), else it keeps with a note.
    """
    kept = tuple(current)
    if value is None:
        return ListReading(kept, False)
    if isinstance(value, str):
        parts: list[object] = [part.strip(_BULLETS) for part in value.translate(_SEPARATORS).split(",")]
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        return ListReading(kept, False, (f"not a list but a {_kind(value)}; the list was kept",))
    items, notes = _clean(parts)
    # Blank text says nothing; [] says "none". A list of which nothing could be read is no wish to clear.
    if not items and (isinstance(value, str) or any(part is not None and part != "" for part in parts)):
        return ListReading(kept, False, (*notes, "nothing usable was given; the list was kept"))
    if not items and kept and not may_clear:
        return ListReading(kept, False, (*notes, "an empty list clears only by approval; the list was kept"))
    return ListReading(tuple(items), not list_diff(kept, items).is_empty, tuple(notes))


def resolve(likes: Sequence[str], dislikes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both lists with every item in only one of them: a like wins over a dislike."""
    liked = {key(item) for item in likes}
    return list(likes), [item for item in dislikes if key(item) not in liked]


def list_diff(before: Sequence[str], after: Sequence[str]) -> ListDiff:
    """Items gained and lost from `before` to `after`; case and order are no change."""
    old, new = {key(item) for item in before}, {key(item) for item in after}
    return ListDiff(
        tuple(item for item in after if key(item) not in old),
        tuple(item for item in before if key(item) not in new),
    )


def merge(current: Sequence[str], found: Sequence[str]) -> list[str]:
    """`current` followed by what is new in `found`, within the size limits."""
    return _clean([*current, *found])[0]


def _clean(parts: Sequence[object]) -> tuple[list[str], list[str]]:
    """Trimmed, distinct, bounded items of `parts`, and notes on what was left out."""
    items: list[str] = []
    notes: list[str] = []
    seen: set[str] = set()
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, str):
            notes.append(f"an item was dropped: {_kind(part)}")
            continue
        item = " ".join(_printable(part).split())
        if len(item) > MAX_ITEM_CHARS:
            item = item[:MAX_ITEM_CHARS].rstrip()
            notes.append(f"an item was cut to {MAX_ITEM_CHARS} characters")
        if item and key(item) not in seen:
            seen.add(key(item))
            items.append(item)
    if len(items) > MAX_ITEMS:
        notes.append(f"only the first {MAX_ITEMS} items were kept")
    return items[:MAX_ITEMS], notes


def _printable(text: str) -> str:
    """`text` as one line PostgreSQL can store: no control characters, no lone surrogates."""
    return "".join(" " if unicodedata.category(ch) in ("Cc", "Cs", "Zl", "Zp") else ch for ch in text)


def _kind(value: object) -> str:
    names = {bool: "boolean", int: "number", float: "number", dict: "object", list: "list"}
    return names.get(type(value), type(value).__name__)
