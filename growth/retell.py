"""A diary moment retold: widened to its neighbours, and put after a day where grammar allows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from growth.moments import Entry, Moment, is_plain, is_suspect
from growth.voices import Voice
from synth.text import words
from synth.text.sentences import sentences, spans

_AROUND = 500
_ROOM_NARROW, _ROOM_WIDE = 165, 66


def widen(picked: Sequence[Moment], entries: Sequence[Entry], limit: int) -> list[Moment]:
    """The moments with the sentences around them, as far as they are short; overlaps become one."""
    contents = {entry.id: entry.content for entry in entries}
    wide: list[Moment] = []
    for moment in picked:
        text = _widened(moment, contents[moment.entry_id])
        if not any(one.entry_id == moment.entry_id and moment.text in one.text for one in wide):
            wide.append(replace(moment, text=text))
    while len(wide) > limit:
        wide.remove(min(wide, key=lambda one: one.score))
    return wide


def _widened(moment: Moment, content: str) -> str:
    at = content.find(moment.text)
    if at < 0 or moment.is_suspect:
        return moment.text
    room = _ROOM_WIDE if words.is_unspaced(moment.text[0]) else _ROOM_NARROW
    low, high = max(0, at - _AROUND), min(len(content), at + len(moment.text) + _AROUND)
    around = [(a + low, b + low) for a, b in spans(content[low:high])]
    # A sentence at the rim of what was looked at may be half a sentence.
    around = [(a, b) for a, b in around if (low == 0 or a > low) and (high == len(content) or b < high)]
    start, end = at, at + len(moment.text)
    for a, b in around:
        if a >= end and b - start <= room and _joins(content, end, a, content[a:b]):
            end = b
    for a, b in reversed(around):
        if b <= start and end - a <= room and _joins(content, b, start, content[a:b]):
            start = a
    return content[start:end]


def _joins(content: str, end: int, start: int, added: str) -> bool:
    """True when a neighbouring sentence follows on the same line and is fit to be quoted."""
    gap = content[end:start]
    return len(gap) <= 2 and "\n" not in gap and is_plain(added) and not is_suspect(added)


def told(moment: Moment, voice: Voice) -> str | None:
    """The moment as plain words to stand after "On Monday", without its last full stop; None to quote it.

    A sentence that starts with "today" loses the word; else it must start as the language allows (a verb in
    the first person, a past tense). Nobody is addressed, nothing is marked up, no other day is meant.
    """
    rules = voice.inline
    line = " ".join(moment.text.split())
    if not rules or moment.is_suspect or not is_plain(line) or line[-1:] in "?？:：!！…":
        return None
    started = _started(line, rules)
    if started is None or re.search(rules["never"], started):
        return None
    return re.sub(r"(?<![.。])[.。．]$", "", started)


def _started(line: str, rules: Mapping[str, str]) -> str | None:
    """`line` fit to follow a day, or None."""
    today = re.match(rules["today"], line)
    if today:
        line = line[today.end() :]
        return _lowered(line, rules) if line else None
    first = sentences(line)[:1]
    if first and rules.get("today_last"):
        cut = re.sub(rules["today_last"], "", first[0])
        line = cut + line[len(first[0]) :]
    return _lowered(line, rules) if re.match(rules["start"], line) else None


def _lowered(line: str, rules: Mapping[str, str]) -> str:
    """`line` with a small first letter where its first word has one inside a sentence."""
    return line[:1].lower() + line[1:] if re.match(rules["lower"], line) else line
