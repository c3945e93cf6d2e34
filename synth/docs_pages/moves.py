"""Status moves read from a docstring's backticks, such as `queued → running → done | failed`; no Django."""

from __future__ import annotations

import re

ARROW = "→"
SPAN = re.compile(r"`([^`]+)`")


def edges(docstring: str) -> list[tuple[str, str]]:
    """Every move `(from, to)` in the order first drawn; `a → b | c` means `a → b` and `a → c`."""
    found: dict[tuple[str, str], None] = {}
    for span in SPAN.findall(docstring):
        steps = [[word.strip() for word in step.split("|")] for step in span.split(ARROW)]
        for before, after in zip(steps, steps[1:], strict=False):
            found.update(dict.fromkeys((a, b) for a in before for b in after))
    return list(found)


def words(docstring: str) -> set[str]:
    """Every backticked word and every status of a drawn move."""
    spans = SPAN.findall(docstring)
    return {word.strip() for span in spans for word in re.split(rf"[{ARROW}|]", span)}


def problems(statuses: list[str], docstring: str) -> list[str]:
    """What the drawing lacks or invents, as sentences; empty when it matches the statuses."""
    drawn = {status for edge in edges(docstring) for status in edge}
    unknown = [f"`{status}` is drawn but is no status" for status in sorted(drawn - set(statuses))]
    missing = [f"`{status}` is not in the docstring" for status in statuses if status not in words(docstring)]
    return unknown + missing


def diagram(statuses: list[str], default: str, moves: list[tuple[str, str]]) -> str:
    """A mermaid state diagram: starts are the default and what nothing leads to; ends lead nowhere."""
    into, out = {b for _, b in moves}, {a for a, _ in moves}
    starts = [status for status in statuses if status == default or status not in into]
    ends = [status for status in statuses if status not in out]
    lines = [f"    [*] --> {status}" for status in starts]
    lines += [f"    {before} --> {after}" for before, after in moves]
    lines += [f"    {status} --> [*]" for status in ends]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])
