"""Whether an action may come from a text that neither the server nor the person wrote. Pure.

What is suspicious is asked about instead of done. Four signs: the arguments repeat a longer stretch of such a
text, or are one of its shorter ones; they take an address from it; it speaks of the action; it tries to give
orders. What the person said themselves in the dialogue is theirs to cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from synth.chat import orders
from synth.prompts.fencing import skeleton
from synth.text.words import pieces

REPEATS = "What it would do repeats a text that the person did not write."
ADDRESSES = "It would use an address from a text that the person did not write."
NAMES = "A text that the person did not write speaks of this action."
ORDERS = "A text that the person did not write tries to give orders."
FOREIGN = "It would be done right after reading what strangers wrote."
OTHERS = "The model has read texts that the person did not write."
TOO_MUCH = "The model was shown too much to look through."
MAX_CHARS = 4_000_000
WORD, CHAR, STRETCH = 24, 5, 120  # five words, or 24 characters of a script without spaces
SHORT = 2 * WORD  # a whole value from there on adds to a stretch
WHOLE = 3 * WORD  # a whole value from there on is one
_FENCED = re.compile(r"^<<<data [^\n]*>>>\n(.*?)\n<<<end of data [^\n]*>>>$", re.MULTILINE | re.DOTALL)
_OURS = re.compile(r"There is no such action\. Available are: [a-z0-9_, ]*\.")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?)?")
_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?|ftp)://[^\s\"'<>)\]]+|\bwww\.[^\s\"'<>)\]]+"
    r"|(?<!\w)@\w{3,}|(?<![\w.])\+?\d(?:[ ()./-]?\d){6,}(?!\w)"
)
_LETTERS = re.compile(r"(?<![^\W_])(?:[^\W_][ ._*-]{1,3}){3,}[^\W_](?![^\W_])")
_WORDS = re.compile(r"[^\W_]+")
_GAP_WORDS = 4
_MIN_STEM = 4


class Sent(Protocol):
    """What is read of a message of a request."""

    @property
    def role(self) -> str: ...
    @property
    def text(self) -> str: ...


def shown(messages: Iterable[Sent]) -> list[str]:
    """What a request shows of others: everything fenced, and what tools said."""
    found: list[str] = []
    for message in messages:
        if message.role == "tool":
            found += [] if _OURS.fullmatch(message.text) else [message.text]
        elif message.role != "assistant":
            found += [text for text in _FENCED.findall(message.text) if not _OURS.fullmatch(text)]
    return found


def reason(
    name: str,
    arguments: Any,
    untrusted: Sequence[str],
    own: Sequence[str],
    *,
    kept: Sequence[str] = (),
    spoken: Sequence[str] = (),
    manuals: Sequence[str] = (),
) -> str:
    """Why a person should be asked before the action is done, a sentence; "" for no reason.

    `kept` are texts that the action leaves as they were; repeating them is nothing new. `spoken` are words by
    which it is ordered. `manuals` say how a client's tools are used: nobody's either, but they give orders
    by nature.
    """
    if not untrusted and not manuals:
        return ""
    if sum(map(len, untrusted)) + sum(map(len, manuals)) > MAX_CHARS:
        return TOO_MUCH
    texts, theirs = _flat(untrusted), _flat([*untrusted, *manuals])
    ours = [orders.flat_of(text) for text in own]

    def speaks(flat: str) -> bool:
        return _speaks_of(name, flat) or orders.tells_to(flat, spoken)

    if any(_names(name, flat) for flat in theirs) or (any(map(speaks, texts)) and not any(map(speaks, ours))):
        return NAMES
    ours += [orders.flat_of(text) for text in kept]
    values = [orders.flat_of(leaf) for leaf in leaves(arguments)]
    if _takes_address(values, theirs, ours):
        return ADDRESSES
    if _repeats(values, theirs, ours):
        return REPEATS
    return ORDERS if any(map(orders.gives_orders, texts)) else ""


def _flat(many: Iterable[str]) -> list[str]:
    """The texts and what is hidden in them, in the spelling that is compared."""
    return [orders.flat_of(one) for text in many for one in (text, *orders.hidden(text))]


def _repeats(values: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether the values hold a stretch of one of their texts that no own text has.

    A shorter value that stands whole in theirs and not in own ones counts too; the shortest ones together.
    """
    wanted = [tokens(value) for value in dict.fromkeys(values)]
    known, own = [tokens(flat) for flat in theirs], [tokens(flat) for flat in ours]
    if (_all(wanted) & _all(known)) - _all(own):
        return True
    known_lines, own_lines = list(map(_line, known)), list(map(_line, own))
    weight = 0
    for found in wanted:
        n, line = sum(size for _, size in found), _line(found)
        if n >= SHORT and _within(line, known_lines) and not _within(line, own_lines):
            weight += STRETCH if n >= WHOLE else n
    return weight >= STRETCH


def _all(many: Iterable[Sequence[tuple[str, int]]]) -> set[tuple[str, ...]]:
    return {stretch for found in many for stretch in stretches(found)}


def tokens(flat: str) -> list[tuple[str, int]]:
    """Words and, in scripts without spaces, single characters, each with its weight."""
    found: list[tuple[str, int]] = []
    dated = _DATE.sub(lambda match: re.sub(r"\D", "", match.group()), flat)
    for piece, is_unspaced in pieces(dated):
        found += [(char, CHAR) for char in piece] if is_unspaced else [(piece, WORD)]
    return found


def stretches(found: Sequence[tuple[str, int]]) -> Iterator[tuple[str, ...]]:
    """From each token on, the shortest run that is long enough."""
    end = weight = 0
    for start in range(len(found)):
        while weight < STRETCH and end < len(found):
            weight += found[end][1]
            end += 1
        if weight < STRETCH:
            return
        yield tuple(token for token, _ in found[start:end])
        weight -= found[start][1]


def _line(found: Sequence[tuple[str, int]]) -> str:
    return f" {' '.join(token for token, _ in found)} "


def _within(line: str, lines: Iterable[str]) -> bool:
    return any(line in other for other in lines)


def leaves(value: Any) -> Iterator[str]:
    """Every text and number in a JSON value, keys of objects included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)


def _takes_address(values: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether a mail, web or other address, or a long number, is theirs and nowhere in own words."""
    wanted = {address for value in values for address in _addresses(value)}
    if not wanted:
        return False
    own_ones = {address for flat in ours for address in _addresses(flat)}
    return bool(wanted & {address for flat in theirs for address in _addresses(flat)} - own_ones)


def _addresses(flat: str) -> Iterator[str]:
    for match in _ADDRESS.finditer(_DATE.sub(" ", flat)):
        yield match.group().rstrip(".,;:!?/").replace(" ", "")


def _names(name: str, flat: str) -> bool:
    """Whether the action's own name stands in the text, in any spelling of such names."""
    flat = _LETTERS.sub(lambda m: re.sub(r"[ .*-]", "", m.group()), flat)
    words = [re.escape(skeleton(word)) for word in name.split("_") if word]
    if len(words) > 1:
        return re.search(rf"(?<![^\W_]){'[_.-]?'.join(words)}(?![^\W_])", flat) is not None
    # A name that is one plain word counts where it is written as a name.
    return re.search(rf"[`\"'“«]{words[0]}[`\"'”»]|(?<![^\W_]){words[0]}\s?[({{]", flat) is not None


def _speaks_of(name: str, flat: str) -> bool:
    """Whether the text tells somebody, in plain words, to do it: "ring the bell" for `bell_ring`."""
    noun, *_, verb = name.split("_") if "_" in name else (name, name)
    if noun == verb:
        return False
    words = _WORDS.findall(flat)
    noun, verb = _stem(noun), _stem(verb)
    for n, word in enumerate(words):
        if not word.startswith(verb) or orders.SPEAKERS & set(words[max(0, n - 2) : n]):
            continue
        if any(other.startswith(noun) for other in words[n + 1 : n + 1 + _GAP_WORDS]):
            return True
        if n and words[n - 1].startswith(noun):
            return True
    return False


def _stem(word: str) -> str:
    return word[: max(_MIN_STEM, len(word) - 2)]
