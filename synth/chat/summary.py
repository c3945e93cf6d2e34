"""One sitting of a dialogue as its summary's writer is shown it, and the plain summary by rule. Pure.

What an outside client says was said before was not said in this sitting, if at all, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth.chat.history import Node, is_clients
from synth.prompts.fencing import fence

MESSAGE_CHARS = 2_000
RESULT_CHARS = 300
SHOWN_CHARS = 24_000
QUOTE_CHARS = 160
SAID = frozenset({"complete", "cancelled"})
LEFT_OUT = "(The beginning is left out.)"


def is_worth_it(nodes: Sequence[Node]) -> bool:
    """Whether a person said something and was answered."""
    return any(map(_is_persons, nodes)) and any(map(_is_answer, nodes))


def transcript(nodes: Sequence[Node], name: str) -> str:
    """Who said and did what, a fenced text; the oldest messages are left out where it is too long."""
    lines: list[str] = []
    room = SHOWN_CHARS
    for node in reversed(nodes):
        line = _line(node, name)
        room -= len(line)
        if room < 0:
            lines.append(LEFT_OUT)
            break
        if line:
            lines.append(line)
    return fence("\n".join(reversed(lines)), "conversation")


def compose(nodes: Sequence[Node], name: str, language: str) -> str:
    """The summary where no model writes: how much was said, its first and last words as they stand.

    English prose for English-speaking agents; for others name and quotes only.
    """
    theirs = [node.content for node in nodes if _is_persons(node)]
    n_mine = sum(map(_is_answer, nodes))
    first, last = quoted(theirs[0]), quoted(theirs[-1])
    if language.split("-")[0].lower() not in ("", "en"):
        return f"{name}: {first}" if len(theirs) == 1 else f"{name}: {first} … {last}"
    counted = f"{_counted(len(theirs), 'message')} from them, {_counted(n_mine, 'answer')} from me"
    end = "" if len(theirs) == 1 else f" The last thing they wrote was {last}."
    return f"I talked with {name}: {counted}. They began with {first}.{end}"


def quoted(text: str) -> str:
    """The first words of a text in quotation marks, on one line."""
    words = " ".join(text.split())
    cut = words if len(words) <= QUOTE_CHARS else words[:QUOTE_CHARS].rstrip() + " …"
    return f"“{cut}”"


def _counted(n: int, noun: str) -> str:
    return f"one {noun}" if n == 1 else f"{n} {noun}s"


def _is_persons(node: Node) -> bool:
    return node.role == "user" and bool(node.content.strip()) and not is_clients(node)


def _is_answer(node: Node) -> bool:
    is_last = not (isinstance(node.metadata, dict) and node.metadata.get("tool_calls"))
    is_said = node.status in SAID and not is_clients(node)
    return node.role == "assistant" and is_said and is_last and bool(node.content.strip())


def _line(node: Node, name: str) -> str:
    text = " ".join(node.content.split())
    if not text or (node.role == "assistant" and node.status not in SAID) or is_clients(node):
        return ""
    if node.role == "tool":
        return f"({_result(node.metadata)}) {_cut(text, RESULT_CHARS)}"
    who = {"user": name, "assistant": "Me", "proactive": "Me, unasked"}.get(node.role)
    return f"{who} said: {_cut(text, MESSAGE_CHARS)}" if who else ""


def _result(metadata: Any) -> str:
    found = metadata if isinstance(metadata, dict) else {}
    if found.get("is_clients"):
        return "from a tool of their own program"
    return f"{'done' if found.get('is_ok') else 'not done'}: {found.get('action') or 'an action'}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} …"
