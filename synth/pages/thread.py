"""One branch of a dialogue as the bubbles of a page."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from synth.api.endings import reason_of
from synth.chat import markdown
from synth.models import Approval, Dialogue, Message, MessageRole, MessageStatus
from synth.services import branches, check_ins

SHOWN_CHARS = 200_000
SHOWN_N = 400  # messages of a page; beyond, a browser is slow to draw it
# What shows text in another order than it stands, or does not show at all.
_TRICKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ROUND = frozenset({MessageRole.TOOL})


@dataclass(frozen=True)
class Done:
    """An action beside an answer: what it was, whether it was done, the server's word on it."""

    action: str
    is_ok: bool
    text: str


@dataclass(frozen=True)
class Question:
    """An approval that is asked for, and every argument as it stands, by name."""

    row: Approval
    arguments: list[tuple[str, str]]


@dataclass
class Bubble:
    """One message as it is shown. `kind`: user, agent, proactive, gift, note.

    `n` of `n_siblings` ways to go on; `before` and `after` are messages of the neighbouring ones.
    """

    message: Message
    kind: str
    html: str = ""
    said: str = ""
    trouble: str = ""
    actions: list[Done] = field(default_factory=list)
    approvals: list[Question] = field(default_factory=list)
    check_in: str = ""  # the open card as JSON, as a stream tells of it
    gift: dict[str, str] = field(default_factory=dict)
    n: int = 1
    n_siblings: int = 1
    before: int | None = None
    after: int | None = None

    @property
    def is_streaming(self) -> bool:
        """Whether the answer is still being written."""
        return self.message.status == MessageStatus.STREAMING


@dataclass(frozen=True)
class Thread:
    """The branch that is shown, how many older messages are not, and the message these stand above."""

    bubbles: list[Bubble]
    n_older: int
    first_id: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is being written in it."""
        return any(bubble.is_streaming for bubble in self.bubbles)


def read(dialogue: Dialogue) -> Thread:
    """The branch that ends with the active leaf."""
    leaf = dialogue.active_leaf
    if leaf is None:
        return Thread([], 0)
    found, n_older = branches.above(leaf, SHOWN_CHARS)
    return _thread(dialogue, [*found, leaf], n_older)


def read_above(message: Message) -> Thread:
    """What stands above a message in its branch."""
    found, n_older = branches.above(message, SHOWN_CHARS)
    return _thread(message.dialogue, found, n_older)


def _thread(dialogue: Dialogue, nodes: list[Message], n_older: int) -> Thread:
    """The end of a branch, cut where no answer is parted from its actions."""
    start = max(0, len(nodes) - SHOWN_N)
    while start and _is_of_round(nodes[start - 1]):
        start -= 1
    bubbles = _bubbles(_linked(nodes[start:]))
    _number(dialogue, bubbles)
    return Thread(bubbles, n_older + start, nodes[start].pk if nodes else None)


def bubble_of(message: Message) -> Bubble:
    """One message by itself, with what belongs to it, as a page swaps it in when an answer has ended."""
    nodes, _ = branches.above(message, SHOWN_CHARS)
    start = len(nodes)
    while start and _is_of_round(nodes[start - 1]):
        start -= 1
    bubble = _bubbles(_linked([*nodes[max(0, start - 1) :], message]))[-1]
    _number(message.dialogue, [bubble])
    return bubble


def _linked(nodes: list[Message]) -> list[Message]:
    """The same, each with the one before as its parent, so that nobody asks for it again."""
    for parent, node in itertools.pairwise(nodes):
        node.parent = parent
    return nodes


def _is_of_round(node: Message) -> bool:
    """Whether it belongs to the answer below it."""
    return node.role in _ROUND or (
        node.role == MessageRole.ASSISTANT and bool(node.metadata.get("tool_calls"))
    )


def _bubbles(nodes: Sequence[Message]) -> list[Bubble]:
    """Results and the words between them belong to the answer that follows."""
    found: list[Bubble] = []
    actions: list[Done] = []
    words: list[str] = []
    for node in nodes:
        if node.role in _ROUND:
            actions.append(_done(node))
        elif node.role == MessageRole.ASSISTANT and node.metadata.get("tool_calls") and node is not nodes[-1]:
            words.append(node.content)
        else:
            bubble = _bubble(node, words if node.role == MessageRole.ASSISTANT else [])
            bubble.actions, actions, words = actions, [], []
            found.append(bubble)
    return found


def _bubble(node: Message, words: Iterable[str] = ()) -> Bubble:
    if node.role == MessageRole.USER:
        return Bubble(node, "user", said=node.content)
    text = "\n\n".join(part for part in (*words, node.content) if part.strip())
    kind = {MessageRole.PROACTIVE: "proactive", MessageRole.ASSISTANT: "agent"}.get(
        MessageRole(node.role), "note"
    )
    bubble = Bubble(node, kind, html=markdown.html(text) if text else "")
    if node.status == MessageStatus.FAILED:
        bubble.trouble = reason_of(node)[1]
    if node.status == MessageStatus.STREAMING:
        bubble.approvals = [_question(row) for row in node.approvals.filter(status="pending")]
        if card := check_ins.open_card(node.pk):
            bubble.check_in = json.dumps(card)
    gift = node.metadata.get("gift")
    if kind == "proactive" and isinstance(gift, dict):
        bubble.kind = "gift"
        bubble.gift = {name: _plain(gift.get(name)) for name in ("item", "name", "art", "note", "from")}
    return bubble


def _plain(value: Any) -> str:
    return value[:500] if isinstance(value, str) else ""


def _question(row: Approval) -> Question:
    """Pairs, because a template that looks for `items` in an object finds an argument of that name first."""
    pairs = row.arguments.items() if isinstance(row.arguments, dict) else [("", row.arguments)]
    return Question(row, [(_visible(name), _visible(value)) for name, value in pairs])


def _visible(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _TRICKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _done(node: Message) -> Done:
    said = node.metadata
    name = "a tool of the client's" if said.get("is_clients") else "result"
    return Done(str(said.get("action", "")) or name, bool(said.get("is_ok")), node.content[:2_000])


def _number(dialogue: Dialogue, bubbles: Sequence[Bubble]) -> None:
    """Count the siblings of what was said, and of each answer: the turns that begin where it begins."""
    firsts = {id(bubble): _first_of_turn(bubble) for bubble in bubbles if bubble.kind in ("user", "agent")}
    parents = {first.parent_id for first in firsts.values()}
    at_root = Q(parent=None) if None in parents else Q(pk__in=[])
    rows = Message.objects.filter(at_root | Q(parent__in=parents - {None}), dialogue=dialogue)
    siblings: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for pk, parent, role in rows.order_by("pk").values_list("pk", "parent_id", "role"):
        siblings[(parent, role)].append(pk)
    for bubble in bubbles:
        if (first := firsts.get(id(bubble))) is None:
            continue
        same = siblings[(first.parent_id, first.role)]
        at = same.index(first.pk) if first.pk in same else 0
        bubble.n, bubble.n_siblings = at + 1, len(same)
        bubble.before = same[at - 1] if at > 0 else None
        bubble.after = same[at + 1] if at + 1 < len(same) else None


def _first_of_turn(bubble: Bubble) -> Message:
    """The first node of the turn that an answer ends; what was said is its own."""
    node = bubble.message
    if bubble.kind == "user":
        return node
    while node.parent is not None and node.parent.role in (MessageRole.TOOL, MessageRole.ASSISTANT):
        node = node.parent
    return node
