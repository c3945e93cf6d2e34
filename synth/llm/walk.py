"""The span of one almost-JSON object: where it ends, what is wrong with it, and a repaired spelling.

Pure and linear: every character is looked at a fixed number of times. Only two things are repaired, because
both are unambiguous: a comma before a closing bracket, and typographic quotes used as string delimiters.
Closing brackets that are missing are added only for a caller who knows that the text is whole and how deep
its last complete value may lie. ASCII strings are never touched. Everything else gets a name (see `PROBLEMS`
in `tolerant`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_DEPTH = 100
ADDED = "closing brackets added"
DOUBLE = "“”„‟«»"
SINGLE = "‘’‚‛"
_CLOSER = {"{": "}", "[": "]"}
# Possessive repeats: an unclosed string must not be backtracked through.
_TOKEN = re.compile(
    rf"""(?P<space>\s++)
    |(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    |(?P<open>[{{\[])|(?P<close>[}}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<word>-?[^\W\d]\w*+)
    |(?P<number>-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    |(?P<curly>[{DOUBLE}{SINGLE}])
    |(?P<comment>//[^\n]*+|\#[^\n]*+|/\*)
    |(?P<unclosed>")
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_QUOTES = {
    True: re.compile(rf'\\.|[{DOUBLE}"]', re.DOTALL),
    False: re.compile(rf"\\.|[{SINGLE}]", re.DOTALL),
}
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_VALUE = re.compile(rf'\s*(?:[}}\]]|,\s*(?:["{DOUBLE}{SINGLE}{{\[}}\]]|-?[0-9]|true\b|false\b|null\b))')
_INNER = re.compile(r'\\.|"', re.DOTALL)
_FENCE = re.compile("`{3}|~{3}")
_WORDS = {"true": "", "false": "", "null": ""}
_WORDS |= {"True": "python_repr", "False": "python_repr", "None": "python_repr"}
_WORDS |= {"NaN": "not_a_number", "Infinity": "not_a_number", "-Infinity": "not_a_number"}


@dataclass
class Span:
    """`end` is None when the text stopped inside the object. `repaired` is JSON; `repairs` say how."""

    end: int | None
    problem: str
    too_deep: bool
    repairs: set[str]
    repaired: str


@dataclass
class _Walker:
    text: str
    pos: int
    closes: int = 0  # how many closing brackets may be missing at the end
    stack: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    repairs: set[str] = field(default_factory=set)
    problem: str = ""
    last: str = ""  # kind of the last mark that was not space
    comma_at: int = -1  # index in `pieces` of a comma that nothing has followed yet
    depth: int = 0
    at_end: bool = False

    def blame(self, problem: str) -> None:
        self.problem = self.problem or problem

    def step(self) -> None:
        match = _TOKEN.match(self.text, self.pos)
        if match is None or (self.closes and _FENCE.match(self.text, self.pos)):
            self.at_end = not self.close_all()
            return
        kind, mark = str(match.lastgroup), match.group()
        self.pos = match.end()
        if kind == "space":
            self.pieces.append(mark)
            return
        getattr(self, f"on_{kind}")(mark)
        self.last = kind

    def value(self, mark: str) -> None:
        self.pieces.append(mark)
        self.comma_at = -1

    on_string = on_number = value

    def on_open(self, mark: str) -> None:
        self.value(mark)
        self.stack.append(_CLOSER[mark])
        self.depth = max(self.depth, len(self.stack))

    def on_close(self, mark: str) -> None:
        if self.comma_at >= 0:
            self.pieces[self.comma_at] = ""
            self.repairs.add("trailing comma removed")
        if self.closes and self.stack[-1] != mark and self.stack[-2:-1] == [mark]:
            self.close(1)
        self.value(mark)
        if self.stack.pop() != mark:
            self.blame("broken")

    def close_all(self) -> bool:
        """Whether the text may end here: after a closed value, with few enough brackets still open."""
        if self.last != "close" or len(self.stack) > self.closes:
            return False
        self.close(len(self.stack))
        return True

    def close(self, n: int) -> None:
        self.pieces.extend(self.stack.pop() for _ in range(n))
        self.repairs.add(ADDED)

    def on_comma(self, mark: str) -> None:
        if self.last in ("open", "comma", "colon"):
            self.blame("broken")
        self.comma_at = len(self.pieces)
        self.pieces.append(mark)

    def on_colon(self, mark: str) -> None:
        if self.last == "number":
            self.blame("unquoted_keys")
        self.value(mark)

    def on_word(self, mark: str) -> None:
        self.blame(_WORDS.get(mark, "unquoted_keys" if self.last in ("open", "comma") else "broken"))
        self.value(mark)

    def on_comment(self, mark: str) -> None:
        self.blame("comments")
        if mark == "/*":
            found = self.text.find("*/", self.pos)
            self.at_end = found < 0
            self.pos = found + 2 if found >= 0 else len(self.text)

    def on_unclosed(self, mark: str) -> None:
        self.at_end = True

    def on_other(self, mark: str) -> None:
        self.blame("single_quotes" if mark == "'" else "broken")

    def on_curly(self, mark: str) -> None:
        if self.last not in ("open", "comma", "colon"):
            self.blame("broken")
            return
        is_key = self.last != "colon" and self.stack[-1] == "}"
        end = self.closing_quote(mark in DOUBLE, _AFTER_KEY if is_key else _AFTER_VALUE)
        if end is None:
            self.at_end = True
            return
        inner = _INNER.sub(lambda m: '\\"' if m.group() == '"' else m.group(), self.text[self.pos : end])
        self.repairs.add("typographic quotes read as delimiters")
        self.value(f'"{inner}"')
        self.pos = end + 1

    def closing_quote(self, is_double: bool, after: re.Pattern[str]) -> int | None:
        for match in _QUOTES[is_double].finditer(self.text, self.pos):
            if match.group()[0] != "\\" and after.match(self.text, match.end()):
                return match.start()
        return None


def walk(text: str, start: int, closes: int = 0) -> Span:
    """Follow the object that opens at `start` to its closing brace or to the end of the text.

    With `closes`, a bracket that another one shows to be missing is added, and up to that many at the end of
    the text or of its fence, when what stands before is a closed value.
    """
    walker = _Walker(text, start, closes)
    walker.step()
    while walker.stack and not walker.at_end:
        walker.step()
    return Span(
        end=None if walker.at_end else walker.pos,
        problem=walker.problem,
        too_deep=walker.depth > MAX_DEPTH,
        repairs=walker.repairs,
        repaired="".join(walker.pieces) if walker.repairs and not walker.problem else "",
    )
