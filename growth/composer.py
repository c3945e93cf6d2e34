"""A weekly reflection written without a language model: the diary's own moments, told in the first person.

Faithful by construction: what it says about the week is quoted, told in the diary's own words (the day put in
for "today"), or counted from the entries.
Phrases per language are in `data/composer/`; other languages get the quotes with their dates and no prose.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from growth.lists import key, merge, resolve
from growth.moments import NO_EVIDENCE, Entry, Moment, diverse, moments, recurring_names
from growth.reply import MAX_CHARS, Evidence
from growth.retell import told, widen
from growth.tastes import Taste, stated
from growth.voices import Voice, voice_for
from synth.text import words
from synth.text.sentences import spans

__all__ = ["Composed", "Entry", "Week", "compose"]

MAX_MOMENTS = 5
MAX_NEW_TASTES = 5
_SLOT = "\0"
_SOFT_END = re.compile(r"(?<![.。])[.。．]$")
_HARD_END = re.compile(r"[!?…！？][\"'”’»」』)]*$")
_EMPHASIS = re.compile(r"\*\*|__|`|~~|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


@dataclass(frozen=True, slots=True)
class Week:
    """What the composer may know: the window's entries (oldest first), who writes, what is current."""

    entries: Sequence[Entry]
    language: str = "en"
    name: str = ""
    likes: Sequence[str] = ()
    dislikes: Sequence[str] = ()
    current_text: str = ""


@dataclass(frozen=True, slots=True)
class Composed:
    """A reflection of at most 2,000 characters, the lists to go with it, and the source of each sentence."""

    self_growth: str
    likes: list[str]
    dislikes: list[str]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """Where in the text (half-open span) words of the diary stand, and what they are."""

    start: int
    end: int
    quote: str
    diary_ids: tuple[int, ...]


def compose(week: Week) -> Composed:
    """The reflection of `week`; ValueError when its entries hold no text at all. Same week, same text."""
    entries = [e for e in week.entries if e.source not in NO_EVIDENCE and e.content.strip()]
    if not entries:
        raise ValueError("the week has no diary to compose from")
    tastes = _new_tastes(stated(entries), week)
    picked = _picked(entries, week.current_text)
    voice = voice_for(week.language, (entry.content for entry in entries))
    page = _write(entries, week, voice, picked, tastes)
    while len(page.text) > MAX_CHARS and len(picked) > 1:
        # The weakest moment goes; one moment and its frame always fit.
        picked.remove(min(picked, key=lambda moment: moment.score))
        page = _write(entries, week, voice, picked, ())
    likes, dislikes = _lists(tastes, week)
    return Composed(page.text, likes, dislikes, page.evidence())


class _Page:
    """Text under construction that remembers where the diary speaks."""

    def __init__(self, voice: Voice, entries: Sequence[Entry], seed: int, has_dates: bool) -> None:
        self.voice, self.seed, self.has_dates = voice, seed, has_dates
        self.contents = {entry.id: entry.content for entry in entries}
        self.text = ""
        self.sources: list[_Source] = []
        self.used: dict[str, int] = {}
        self.last_on: date | None = None

    def paragraph(self) -> None:
        """Start a new paragraph, once."""
        if self.text and not self.text.endswith("\n"):
            self.text += "\n\n"

    def say(self, kind: str, **facts: str) -> int | None:
        """Append the next phrase of `kind`; the position of its first character, None without a phrase."""
        phrases = self.voice.phrases(kind)
        if not phrases:
            return None
        turn = self.used.get(kind, self.seed)
        self.used[kind] = turn + 1
        if self.text and not self.text.endswith("\n"):
            self.text += self.voice.sep
        start = len(self.text)
        self.text += phrases[turn % len(phrases)].format(**facts)
        return start

    def quote(self, kind: str, moment: Moment) -> None:
        """Append a phrase around the words of `moment`."""
        when = self.voice.when(moment.on, self.has_dates, is_same=moment.on == self.last_on)
        self.last_on = moment.on
        start = self.say(kind, when=when, When=when[:1].upper() + when[1:], q=_SLOT)
        if start is None:
            return
        shown = self.voice.quoted(self._shown(moment))
        before, after = self.text[start:].split(_SLOT)
        if _HARD_END.search(shown) and after[:1] in (".", "。"):
            after = after[1:]
        self.text = self.text[:start] + before + shown + after
        begin = start + len(before)
        self.sources.append(_Source(begin, begin + len(shown), moment.text, (moment.entry_id,)))

    def tell(self, moment: Moment) -> None:
        """Append the moment in its own words after its day, or quoted where that would not read well."""
        plain = told(moment, self.voice)
        if plain is None or moment.on == self.last_on:
            self.quote("next", moment)
            return
        when = self.voice.when(moment.on, self.has_dates)
        self.last_on = moment.on
        start = self.say("tell", when=when, When=when[:1].upper() + when[1:], s=plain)
        if start is not None:
            self.sources.append(_Source(start, len(self.text), moment.text, (moment.entry_id,)))

    def _shown(self, moment: Moment) -> str:
        """The moment as quoted: one line, no emphasis marks, no last full stop, "…" where it was cut."""
        line = " ".join(_EMPHASIS.sub("", moment.text).replace("\0", "\ufffd").split())
        line = "".join("\ufffd" if "\ud800" <= ch <= "\udfff" else ch for ch in line)
        content = self.contents.get(moment.entry_id, "")
        after = content[content.find(moment.text) + len(moment.text) :][:2]
        is_cut = bool(after.strip()) and not after.startswith("\n") and moment.text[-1:].isalnum()
        return line + "…" if is_cut else _SOFT_END.sub("", line)

    def evidence(self) -> tuple[Evidence, ...]:
        """Every sentence that holds words of the diary, with those words."""
        found = [
            Evidence(n, source.quote, source.diary_ids)
            for n, (a, b) in enumerate(spans(self.text))
            for source in self.sources
            if source.start < b and a < source.end
        ]
        return tuple(found)


def _picked(entries: Sequence[Entry], current_text: str) -> list[Moment]:
    """One to `MAX_MOMENTS` moments in diary order; a lone suspect one only when there is nothing else."""
    found = moments(entries)
    # Links, markup and half words are quoted only in a week that has little else.
    telling = [moment for moment in found if moment.score > 0.1]
    chosen = diverse(telling if len(telling) > 1 else found, MAX_MOMENTS + 1, avoid=current_text)
    if not chosen:
        return [_any_words(entries[-1])]
    return chosen[:1] if chosen[0].is_suspect else widen(chosen, entries, MAX_MOMENTS)


def _write(
    entries: Sequence[Entry], week: Week, voice: Voice, picked: Sequence[Moment], tastes: Sequence[Taste]
) -> _Page:
    days = [entry.on for entry in entries]
    has_dates = (max(days) - min(days)).days >= 7
    page = _Page(voice, entries, max(days).toordinal() // 7, has_dates)
    if len(picked) == 1:
        page.quote("suspect" if picked[0].is_suspect else "single", picked[0])
        return page
    first, *middle, last = picked
    page.quote("open", first)
    page.say("reflect")
    if len(middle) > 2:
        page.tell(middle.pop(0))
    page.paragraph()
    for moment in middle:
        page.tell(moment)
    _people(page, entries, week.name)
    page.paragraph()
    page.quote("keep", last)
    _taste(page, entries, picked, tastes)
    page.say("close")
    return page


def _people(page: _Page, entries: Sequence[Entry], own_name: str) -> None:
    """Say whose names come up again and again, counted in days."""
    found = recurring_names(entries, own_name)[:2]
    if not found:
        return
    n_days = len({entry.on for entry in entries})
    facts = {"m": page.voice.number(n_days), "name": found[0].name, "n": page.voice.number(found[0].n_days)}
    kind = "person"
    if len(found) == 2:
        kind = "people"
        facts |= {"name2": found[1].name, "n2": page.voice.number(found[1].n_days)}
    start = page.say(kind, **facts)
    if start is not None:
        page.sources += [_Source(start, len(page.text), one.name, one.entry_ids) for one in found]


def _taste(page: _Page, entries: Sequence[Entry], picked: Sequence[Moment], tastes: Sequence[Taste]) -> None:
    """Quote the first stated taste that is not on the page yet."""
    for taste in tastes:
        if len(taste.sentence) <= 160 and not any(taste.sentence in moment.text for moment in picked):
            on = next(entry.on for entry in entries if entry.id == taste.entry_id)
            page.quote("taste", Moment(taste.entry_id, on, taste.sentence, frozenset(), 0.0, False))
            return


def _new_tastes(found: Sequence[Taste], week: Week) -> list[Taste]:
    """Stated tastes that the current lists don't hold, at most `MAX_NEW_TASTES`."""
    known = {(key(item), True) for item in week.likes} | {(key(item), False) for item in week.dislikes}
    return [taste for taste in found if (key(taste.item), taste.is_like) not in known][:MAX_NEW_TASTES]


def _lists(tastes: Sequence[Taste], week: Week) -> tuple[list[str], list[str]]:
    """The current lists with what was stated this week; this week's word wins over an older one."""
    liked = [taste.item for taste in tastes if taste.is_like]
    disliked = [taste.item for taste in tastes if not taste.is_like]
    off = {key(item) for item in disliked} - {key(item) for item in liked}
    return resolve(merge([x for x in week.likes if key(x) not in off], liked), merge(week.dislikes, disliked))


def _any_words(entry: Entry) -> Moment:
    """The start of an entry in which no sentence was found ("..."), as it stands."""
    text = entry.content.strip().splitlines()[0][:80].strip()
    return Moment(entry.id, entry.on, text, frozenset(words.content_tokens(text)), 0.0, False)
