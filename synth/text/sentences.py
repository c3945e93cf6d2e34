"""Sentences of a text in any script, as spans into the original, so that every sentence is verbatim."""

import re

from synth.text.words import UNSPACED

Span = tuple[int, int]

_CLOSERS = "\"'”’»›」』）)\\]】〉》*_"
_END = re.compile(
    rf"(?P<wide>[。！？｡．]+[{_CLOSERS}]*|[।॥۔؟]+[{_CLOSERS}]*)"
    rf"|(?P<plain>[.!?…‥]+[{_CLOSERS}]*)(?=\s|$|[{UNSPACED}])"
)
_LINE = re.compile(r"[^\n\r\u2028\u2029\x0b\x0c\x85]+")
_BULLET = re.compile(r"\s*(?:[-*+•·–—▪‣>]+\s|#{1,6}\s|\(?\d{1,3}[.)]\s|\[[ xX]\]\s)*\s*")
_INITIAL = re.compile(r"(?:^|[\s(\"'“‘])(?:[^\W\d_]\.)*[^\W\d_]\.$")
_LAST_WORD = re.compile(r"([^\W_]+)\.$")
_WORD_AFTER = re.compile(r"\s*[\"'“‘«(]*([^\W_]+)")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr vs etc no vol fig approx dept est inc ltd co bzw usw ca evtl ggf inkl nr str "
    "tel sig dott avv ing ecc pag mme mlle env sra sto dra ud uds av nb bv dhr mw jl tj tzn np ul tzv str "
    "т.е т.д т.п г ул им см др проф".split()
)
_MONTHS = frozenset(
    "januar jänner februar märz april mai juni juli august september oktober november dezember "
    "januari februari maart mei augustus oktober "
    "ledna února března dubna května června července srpna září".split()
)


def spans(text: str) -> list[Span]:
    """Half-open spans of the sentences of `text`, in order, trimmed, without list bullets; none is blank.

    A line break ends a sentence unless it only wraps a long line. Text without marks (Thai) is one sentence
    a line. Abbreviations, initials, "3.5" and "example.org" do not end one.
    """
    found: list[Span] = []
    for start, end in _lines(text):
        start += _bullet_length(text, start, end)
        for mark in _END.finditer(text, start, end):
            if mark.start() >= start and _ends(text, start, mark, end):
                _add(found, text, start, mark.end())
                start = mark.end()
        _add(found, text, start, end)
    return found


def sentences(text: str) -> list[str]:
    """The sentences of `text`, verbatim; see `spans`."""
    return [text[a:b] for a, b in spans(text)]


def _lines(text: str) -> list[Span]:
    """Spans of lines, a hard-wrapped line joined with what continues it."""
    joined: list[Span] = []
    for line in _LINE.finditer(text):
        a, b = line.span()
        if joined and _is_wrap(text, joined[-1], line):
            joined[-1] = (joined[-1][0], b)
        else:
            joined.append((a, b))
    return joined


def _is_wrap(text: str, before: Span, line: re.Match[str]) -> bool:
    """True when `line` goes on with the sentence of a long line that stopped without a mark."""
    gap = text[before[1] : line.start()]
    head = text[before[0] : before[1]].rstrip()
    first = line[0].lstrip()[:1]
    return gap in ("\n", "\r\n") and len(head) >= 60 and head[-1:].isalnum() and first.islower()


def _bullet_length(text: str, start: int, end: int) -> int:
    found = _BULLET.match(text, start, end)
    return found.end() - start if found else 0


def _ends(text: str, start: int, mark: re.Match[str], end: int) -> bool:
    """True when a run of marks really ends the sentence begun at `start`."""
    rest = text[mark.end() : end]
    if mark["wide"] is not None:
        # 「行こう！」と言った: a quoted exclamation inside a sentence.
        return not (mark["wide"][-1] in "」』”" and rest[:1] in ("と", "っ", "って"))
    after = rest.lstrip()[:1]
    if after.islower():
        return False
    if mark["plain"] == ".":
        return not _is_abbreviation(text[max(start, mark.start() - 12) : mark.end()], rest)
    return True


def _is_abbreviation(before: str, rest: str) -> bool:
    """True when the full stop that ends `before` belongs to the word ("Dr.", "J.", "3. Mai")."""
    if not rest.strip():
        return False
    word = _LAST_WORD.search(before)
    follow = _WORD_AFTER.match(rest)
    if word and word[1].isdigit():
        return len(word[1]) <= 2 and follow is not None and follow[1].lower() in _MONTHS
    if word and word[1].lower() in _ABBREVIATIONS:
        return True
    # "I." ends a sentence more often than it is an initial.
    return _INITIAL.search(before) is not None and not before.endswith(("I.", "a.m.", "p.m."))


def _add(found: list[Span], text: str, start: int, end: int) -> None:
    """Append the trimmed span when it holds a letter, digit or symbol beyond punctuation."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    piece = piece.strip()
    # "🌧️" alone is a sentence of a diary, "..." is not.
    if any(ch.isalnum() or ch > "\u218f" for ch in piece):
        found.append((start + left, start + left + len(piece)))
