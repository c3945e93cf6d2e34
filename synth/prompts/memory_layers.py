"""The memory layers of chat prompts: names of what is kept, the person's preferences, what fits the talk.

All of it as this person may see it. Layers only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synth.net.prepared import Prepared
from synth.prompts.fencing import fence, neutralise
from synth.prompts.layers import Layer, LayerContext, Volatility, register

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from synth.models import Memory

CHAT = frozenset({"chat"})
INDEX_BUDGET = 12_000  # characters; above what the lines and the note add up to
MAX_INDEXED = 400
PREFERENCES_BUDGET = 7_000
PREFERENCES_CHARS = 6_000
MAX_PREFERENCES = 50
RECALLED_BUDGET = 4_500
RECALLED_CHARS = 1_200  # of each
MAX_RECALLED = 3
LEAST_SCORE = 0.2
MAX_TALK_CHARS = 2_000
INDEX_HEAD = "Memories you keep, by name; memory_read shows what one says:"
PREFERENCES_HEAD = "What the person you talk to prefers, as you keep it; it is theirs alone:"
RECALLED_HEAD = "Memories of yours that may bear on what was just said:"


def memory_index(context: LayerContext) -> str:
    """Names, kinds, sizes and tags of named memories; the person's preferences stand in their own layer."""
    from synth import memory_sizes
    from synth.services import memories, named_memories

    agent, person = context.agent.pk, context.person.pk if context.person else None
    if person is None:
        found = list(_named(agent, None)[:MAX_INDEXED])
    else:
        found = _NAMED.rows(agent=agent, person=person)
    n_unread = _named(agent, person).count() - len(found) if len(found) == MAX_INDEXED else 0
    made = memory_sizes.index(map(named_memories.entry, found), memories.estimate_tokens, n_unread)
    if not made.lines:
        return ""
    more = f"\nand {made.n_more} more, which memory_list finds" if made.n_more else ""
    note = f"\n{made.note}" if made.note else ""
    return f"{INDEX_HEAD}\n{fence(chr(10).join(made.lines), 'memory index')}{more}{note}"


def _named(agent: int, person: int | None) -> QuerySet[Memory]:
    from synth.services import named_memories

    rows = named_memories.seen(agent, person).exclude(name="")
    if person is not None:
        rows = rows.exclude(about=person, kind=named_memories.PREFERENCE)
    return rows.only("name", "kind", "tags", "n_tokens", "about_id").order_by("name", "id")


def _preferred(agent: int, person: int) -> QuerySet[Memory]:
    from synth.services import named_memories

    rows = named_memories.seen(agent, person).filter(about=person, kind=named_memories.PREFERENCE)
    return rows.order_by("-at", "-id")[:MAX_PREFERENCES]


# Prepared, because somebody waits for the prompt.
_NAMED = Prepared(lambda agent, person: _named(agent, person)[:MAX_INDEXED], agent=int, person=int)
_PREFERENCES = Prepared(_preferred, agent=int, person=int)


def preferences(context: LayerContext) -> str:
    """The memories of kind `preference` about the person, whole while they fit, newest first."""
    from synth.services import named_memories

    if context.person is None:
        return ""
    rows = _PREFERENCES.rows(agent=context.agent.pk, person=context.person.pk)
    texts = [f"{named_memories.shown_name(row)}: {row.text}" for row in rows]
    return _fitting(PREFERENCES_HEAD, texts, PREFERENCES_CHARS, PREFERENCES_CHARS, "preferences")


def recalled(context: LayerContext) -> str:
    """The memories that fit best what the person said last, the beginning of each."""
    from synth.services import meanings, memories, named_memories

    talk = context.said or _talk(context.dialogue)
    if not talk:
        return ""
    meaning = meanings.of(talk)
    found = memories.recall(
        context.agent, talk[:MAX_TALK_CHARS], about=context.person, limit=MAX_RECALLED, at=context.at,
        meaning=meaning,
    )  # fmt: skip
    rows = [one.memory for one in found if one.score >= LEAST_SCORE and not _is_shown(one.memory, context)]
    texts = [f"{named_memories.shown_name(row)}: {row.text}" for row in rows]
    return _fitting(RECALLED_HEAD, texts, RECALLED_CHARS, MAX_RECALLED * RECALLED_CHARS, "memories")


def _is_shown(row: Memory, context: LayerContext) -> bool:
    """Preferences stand in their own layer."""
    is_own = context.person is not None and row.about_id == context.person.pk
    return is_own and row.kind == "preference"


def _fitting(head: str, texts: list[str], each_chars: int, chars: int, label: str) -> str:
    """The texts in one fence, each cut, the last ones left out where they do not fit."""
    shown: list[str] = []
    room = chars
    for text in texts:
        plain = neutralise(text)
        cut = plain if len(plain) <= each_chars else f"{plain[:each_chars]} … (memory_read shows the rest)"
        room -= len(cut)
        if room < 0 and shown:
            shown.append(f"(and {len(texts) - len(shown)} more; memory_list finds them)")
            break
        shown.append(cut)
    return f"{head}\n{fence(chr(10).join(shown), label)}" if shown else ""


def _talk(dialogue: Any) -> str:
    """What the person said last: what is being answered, else their newest message."""
    from synth.models import Message, MessageRole

    if dialogue is None:
        return ""
    said = Message.objects.filter(dialogue=dialogue, role=MessageRole.USER)
    answered = said.filter(children__status="streaming").order_by("-pk").first()
    newest = answered or said.order_by("-pk").first()
    return newest.content if newest else ""


LAYERS = (
    Layer("memory_index", Volatility.DAILY, CHAT, INDEX_BUDGET, memory_index),
    Layer("preferences", Volatility.DAILY, CHAT, PREFERENCES_BUDGET, preferences),
    Layer("recalled", Volatility.TURN, CHAT, RECALLED_BUDGET, recalled),
)


def register_all() -> None:
    """Called from `SynthConfig.ready()`."""
    for layer in LAYERS:
        register(layer)
