"""Markdown tables: write one from rows, read the rows of all tables back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def write(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a `|` inside a cell is escaped."""
    lines = [_line(head), _line(["---"] * len(head))]
    return "\n".join(lines + [_line(row) for row in rows])


def read(text: str) -> Iterator[dict[str, str]]:
    """Every data row of every table in `text`, as `{column head: cell}`, in order."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.replace("\\|", "|") for cell in _cells(line)]
        if not head:
            head = cells
        elif not all(set(cell) <= set("-: ") for cell in cells):
            yield dict(zip(head, cells, strict=True))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells(line: str) -> list[str]:
    marked = line.strip().strip("|").replace("\\|", "\0")
    return [cell.strip().replace("\0", "\\|") for cell in marked.split("|")]
