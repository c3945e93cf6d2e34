"""How much of memories a prompt or a read may hold: index lines, cut reads, the notes on both. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

INDEX_WARN_TOKENS = 2_500
INDEX_CHARS = 10_500  # of the lines that are shown
MAX_TAGS_SHOWN = 5
INDEX_NOTE = (
    "This index is about {n} tokens, over {limit}, and paid in every prompt: add to a memory you have rather "
    "than begin another. Remove or merge memories only when you are asked to."
)
CUT = "[cut: characters {start} to {end} of {total}; read on with offset_chars {end}]"
MARK_CHARS = 120  # room for that mark


@dataclass(frozen=True)
class Entry:
    """One memory as the index shows it."""

    name: str
    kind: str
    n_tokens: int
    tags: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """`name (kind, ~12 tokens; tags)`: what the memory says is not in it."""
        tags = f"; {', '.join(self.tags[:MAX_TAGS_SHOWN])}" if self.tags else ""
        return f"{self.name} ({self.kind}, ~{self.n_tokens} tokens{tags})"


@dataclass(frozen=True)
class Index:
    """The lines that fit, how many do not, and a note when all of it is large."""

    lines: tuple[str, ...]
    n_more: int = 0
    note: str = ""


def index(entries: Iterable[Entry], estimate: Callable[[str], int], n_unread: int = 0) -> Index:
    """The index of these entries in their order; `n_unread` more were not even read."""
    lines = [f"- {' '.join(entry.line.split())}" for entry in entries]
    shown: list[str] = []
    room = INDEX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    n_tokens = estimate("\n".join(lines))
    is_large = n_tokens > INDEX_WARN_TOKENS
    note = INDEX_NOTE.format(n=n_tokens, limit=INDEX_WARN_TOKENS) if is_large else ""
    return Index(tuple(shown), len(lines) - len(shown) + n_unread, note)


def part(
    text: str, start: int, *, max_chars: int, window_tokens: int, estimate: Callable[[str], int]
) -> tuple[str, int]:
    """(part, end) of a read from `start`: at most `max_chars`, and half a window where that is known (not 0).

    Some characters always come, so that reading on ends.
    """
    found = text[start : start + max_chars]
    half = window_tokens // 2
    while half and len(found) > 1 and (n_tokens := estimate(found)) > half:
        found = found[: max(1, min(len(found) - 1, len(found) * half // n_tokens))]
    return found, start + len(found)


def marked(found: str, start: int, end: int, total: int) -> str:
    """The part with a mark that says how to read the rest, where there is some."""
    return found if end >= total else f"{found}\n{CUT.format(start=start, end=end, total=total)}"
