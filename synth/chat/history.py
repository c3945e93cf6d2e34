"""A branch of a dialogue as the messages a model is shown, newest first within a budget. Pure.

What people, tools and outside clients wrote is made inert (`fencing.neutralise`). Answers that failed are
left out. Actions and their result lines stay together: as tool calls where the host takes tools, as plain
text elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from synth.llm.messages import Message, ToolCall
from synth.prompts.fencing import fence, neutralise

UNSENT = frozenset({"failed", "streaming"})
WROTE_FIRST = "(You write first.)"
LEFT_OUT = "(Earlier messages are left out.)"
RESULTS = "What became of your actions, by the server's own record:"


FROM_CLIENT = {"source": "client"}


class Node(Protocol):
    """What is read of a message in the tree."""

    role: str
    status: str
    content: str
    metadata: Any


@dataclass(frozen=True)
class History:
    """`messages` oldest first; `n_dropped` counts the messages of the branch that did not fit."""

    messages: list[Message]
    n_dropped: int = 0


@dataclass
class _Unit:
    """Messages that are kept or dropped together, and how many nodes they stand for."""

    messages: list[Message]
    n_nodes: int = 1

    @property
    def n_chars(self) -> int:
        return sum(len(text) for m in self.messages for _, text in m.record())


def build(nodes: Sequence[Node], budget_chars: int, *, takes_tools: bool, n_older: int = 0) -> History:
    """The branch `nodes` (root first) within `budget_chars`; the oldest are left out.

    `n_older` is how many messages above `nodes` were not even read; they count as dropped.
    """
    units = _units(nodes, takes_tools)
    kept: list[_Unit] = []
    room = budget_chars
    for unit in reversed(units):
        room -= unit.n_chars
        if room < 0:
            break
        kept.append(unit)
    n_dropped = n_older + sum(unit.n_nodes for unit in units[: len(units) - len(kept)])
    messages = merged(m for unit in reversed(kept) for m in unit.messages)
    if messages and messages[0].role == "assistant":
        # Strict hosts want a question before the first answer.
        messages.insert(0, Message("user", LEFT_OUT if n_dropped else WROTE_FIRST))
    return History(messages, n_dropped)


def merged(messages: Iterable[Message]) -> list[Message]:
    """The same messages with plain neighbours of one role made one: strict hosts want roles to alternate."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        is_plain = not message.tool_calls and message.role in ("user", "assistant")
        if last is not None and is_plain and last.role == message.role and not last.tool_calls:
            found[-1] = Message(
                last.role, f"{last.text}\n\n{message.text}", parts=(*last.parts, *message.parts)
            )
        else:
            found.append(message)
    return found


def is_clients(node: Node) -> bool:
    """Whether an outside client says that this was said; it was not said here."""
    return isinstance(node.metadata, dict) and node.metadata.get("source") == FROM_CLIENT["source"]


def said(text: str) -> Message:
    """What a person wrote."""
    return Message("user", neutralise(text))


def asked_by_text(text: str, calls: Iterable[ToolCall]) -> Message:
    """An answer that asked for actions in its text, put together again."""
    items = [{"type": call.name, "payload": _loaded(call.arguments)} for call in calls]
    wanted = json.dumps({"actions": items}, ensure_ascii=False)
    return Message("assistant", f"{text}\n\n{wanted}".strip())


def results_as_text(results: Iterable[tuple[str, str]]) -> Message:
    """(action, line) pairs for a model that asked in its text."""
    lines = [fence(line, f"result of {name or 'your reply'}") for name, line in results]
    return Message("user", "\n".join([RESULTS, *lines]))


def result_as_tool(call_id: str, line: str) -> Message:
    """One result line for a model that called a tool."""
    return Message("tool", neutralise(line), tool_call_id=call_id)


def calls_of(metadata: Any) -> tuple[ToolCall, ...]:
    """The calls an answer in the tree asked for."""
    raw = metadata.get("tool_calls") if isinstance(metadata, dict) else None
    items = raw if isinstance(raw, list) else []
    return tuple(
        ToolCall(str(i.get("id", "")), str(i.get("name", "")), str(i.get("arguments", "")))
        for i in items
        if isinstance(i, dict)
    )


def _units(nodes: Sequence[Node], takes_tools: bool) -> list[_Unit]:
    units: list[_Unit] = []
    at = 0
    while at < len(nodes):
        node = nodes[at]
        calls = calls_of(node.metadata) if node.role == "assistant" else ()
        if node.status in UNSENT or node.role == "tool":
            # A result whose question was cut away says nothing by itself.
            units.append(_Unit([]))
            at += 1
        elif calls:
            results = _results(nodes, at + 1)
            units.append(_round(node, calls, results, takes_tools))
            at += 1 + len(results)
        else:
            units.append(_Unit(_plain(node)))
            at += 1
    return units


def _plain(node: Node) -> list[Message]:
    if not node.content.strip():
        return []
    if node.role == "user":
        return [said(node.content)]
    if node.role == "system":
        return [Message("user", fence(node.content, "note of the client"))]
    return [Message("assistant", _told(node))]


def _told(node: Node) -> str:
    """What an agent said. Its own words stay as they are; others may have written the rest."""
    return neutralise(node.content) if node.role == "proactive" or is_clients(node) else node.content


def _results(nodes: Sequence[Node], at: int) -> list[Node]:
    found: list[Node] = []
    for node in nodes[at:]:
        if node.role != "tool":
            break
        found.append(node)
    return found


def _round(node: Node, calls: Sequence[ToolCall], results: Sequence[Node], takes_tools: bool) -> _Unit:
    """An answer with its calls and their results; a call without a result gets a line that says so."""
    lines = {str(r.metadata.get("call_id", "")): r.content for r in results if isinstance(r.metadata, dict)}
    unknown = "Nothing is known of what became of this; do not say that it was done."
    pairs = [(call, lines.get(call.id, unknown)) for call in calls]
    if takes_tools and node.metadata.get("via") == "tools":
        asked = Message("assistant", _told(node), tool_calls=tuple(calls))
        return _Unit([asked, *(result_as_tool(c.id, line) for c, line in pairs)], 1 + len(results))
    told = results_as_text((call.name, line) for call, line in pairs)
    return _Unit([asked_by_text(_told(node), calls), told], 1 + len(results))


def _loaded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
