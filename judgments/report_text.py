"""Lists, reports and replays as plain text for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

BAR = "▏▎▍▌▋▊▉█"
WIDTH = 30
MAX_SAID = 100


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns as wide as their longest cell."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)


def size(n_bytes: int) -> str:
    """`12 KiB`, `3.4 MiB`."""
    return f"{n_bytes / 2**20:.1f} MiB" if n_bytes >= 2**20 else f"{round(n_bytes / 1024)} KiB"


def said(text: str) -> str:
    """What a client or a host called something, fit for one line of a terminal: nothing there moves it."""
    line = "".join(char if char.isprintable() else "�" for char in text[: MAX_SAID + 1])
    return line if len(text) <= MAX_SAID else f"{line[:MAX_SAID]}…"


def listing_text(found: list[dict[str, Any]]) -> str:
    """What `ls` prints."""
    head = ("judgment", "mode", "wording", "runs", "labels", "failed", "size", "models")
    rows = [
        (
            one["name"],
            one["mode"],
            f"{one['digests'][0]}{' +' + str(one['n_versions'] - 1) if one['n_versions'] > 1 else ''}"
            if one["digests"]
            else "-",
            one["n_runs"],
            one["n_labels"],
            one["n_failed"],
            size(one["n_bytes"]),
            ", ".join(map(said, one["models"][:3])) or "-",
        )
        for one in found
    ]
    return table(head, rows)


def bar(n: int, most: int) -> str:
    """A bar of up to 30 characters."""
    eighths = round(n / most * WIDTH * 8) if most else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (BAR[rest - 1] if rest else "")


def report_text(found: dict[str, Any]) -> str:
    """What `report` prints."""
    parts = [f"{found['judgment']}, the last {found['days']} days, {found['n_groups']} groups"]
    for group in found["groups"]:
        digests = f"{group['version']['instructions_digest'][:8]}/{group['version']['criteria_digest'][:8]}"
        caller = f", asked by key {group['caller']}…" if group["caller"] else ""
        parts.append(f"\n{digests} on {said(group['served_model']) or '(no answer)'}{caller}")
        parts.append(
            f"  {group['n_runs']} runs, {group['n_skipped']} skipped, {group['n_failed']} failed, "
            f"{group['n_unlabelled']} unlabelled"
        )
        parts += [f"    {word}: {n}" for word, n in {**group["failures"], **group["skipped"]}.items()]
        for name, question in group["questions"].items():
            parts += [f"  {line}" for line in _question(name, question, found["budget"])]
    return "\n".join(parts)


def _question(name: str, question: dict[str, Any], budget: float) -> list[str]:
    lines = [f"{said(name)} ({question['type']})"]
    most = max(question["histogram"])
    if most:
        lines += [
            f"  {n / 10:.1f}–{(n + 1) / 10:.1f} {str(count).rjust(8)} {bar(count, most)}"
            for n, count in enumerate(question["histogram"])
        ]
    lines += [f"  labelled {said(value)}: {n}" for value, n in question["labels"].items()]
    if (figures := question["calibration"]) is not None:
        lines.append(
            f"  accuracy {figures['accuracy']:.3f}  Brier {figures['brier']:.3f}  ECE {figures['ece']:.3f}"
            f"  on {figures['n']} labels"
        )
        lines.append(f"  {dial_text(question['dial'], budget)}")
    return lines


def dial_text(dial: dict[str, Any], budget: float) -> str:
    """The error-budget dial in one line."""
    if dial["threshold"] is None:
        return f"at most {budget:.0%} wrong: no threshold keeps that on {dial['n']} labels"
    low, high = dial["coverage_interval"]["low"], dial["coverage_interval"]["high"]
    return (
        f"at most {budget:.0%} wrong: act from certainty {dial['threshold']:.3f}, which covers "
        f"{dial['coverage']:.0%} ({low:.0%}–{high:.0%})"
    )


def replay_text(found: dict[str, Any]) -> str:
    """What `replay` prints."""
    models = ", ".join(map(said, found["served_models"])) or "nobody"
    parts = [
        f"{found['judgment']} asked again on {found['model']} (answered by {models}): "
        f"{found['n_asked']} runs, {found['n_truncated']} left out because they were cut in the record"
    ]
    parts += [f"  {word}: {n}" for word, n in found["failures"].items()]
    for name, tally in found["questions"].items():
        moved = "-" if tally["mean_shift"] is None else f"{tally['mean_shift']:.3f}"
        parts.append(
            f"  {said(name)}: {tally['n_changed']} of {tally['n']} would have changed, moved by {moved} on "
            f"average, {tally['n_new']} had no answer before"
        )
    if found["instability"] is not None:
        parts.append(f"  option order moves a choice by {found['instability']:.3f}")
    return "\n".join(parts)
