"""The actions by which an agent reads, keeps and forgets memories; what is about one person reaches no other.

Persons change what is about themselves; what is about nobody is for trainers and operators to have changed,
because it stands in everybody's prompts.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from synth import actions, memory_sizes, turn_options
from synth.actions import Action, Outcome
from synth.models import Memory, Person
from synth.services import meanings, memories, named_memories
from synth.services.named_memories import MAX_NAME_CHARS, entry, find, shown_name
from synth.turns import Turn

MAX_LISTED = 50
MAX_RECALLED = 10
BIG_LISTED = 5
DIFF_CHARS = 2_000
NOT_FOUND = "There is no memory of that name."
NOT_YOURS = (
    "Only a trainer or an operator can have memories changed that are about nobody; nothing was changed. "
    "What is about the person you talk to can be kept with about_me true."
)
# How somebody is told to keep something, in the languages that agents meet most.
REMEMBER = tuple(
    (
        "remember|memorize|memorise|keep in mind|note down|note that|take note|make a note|"
        "write down|jot down|save this|save that|store this|store that|add to memory|"
        "add to your memory|from now on|merk dir|merke dir|merken sie sich|notiere|notier dir|"
        "schreib auf|speichere|ab jetzt|von nun an|souviens-toi|souvenez-vous|rappelle-toi|"
        "retiens|retenez|note que|notez|mémorise|désormais|recuerda|recuerde|anota|apunta|"
        "memoriza|ten en cuenta|a partir de ahora|ricorda|ricordati|ricordate|annota|memorizza|"
        "d'ora in poi|lembre|lembra|anote|memorize|a partir de agora|onthoud|noteer|schrijf op|"
        "vanaf nu|zapamiętaj|zanotuj|zapisz|pamiętaj|od teraz|zapamatuj|pamatuj|zapiš|muista|"
        "jegyezd meg|emlékezz|kom ihåg|notera|husk|noter|ține minte|notează|hatırla|unutma|"
        "aklında tut|not al|ingat|catat|nhớ rằng|ghi nhớ|ghi lại|запомни|запомните|запиши|"
        "запишите|помни|отныне|запам'ятай|пам'ятай|відтепер|θυμήσου|σημείωσε|记住|記住|请记|請記|"
        "记下|記下|从现在起|從現在起|覚えて|記憶して|メモして|今後は|기억해|기억하세|기록해|"
        "메모해|앞으로는|تذكر|احفظ|من الآن|याद रख|नोट कर|लिख लो|จำไว้|จดไว้|זכור|תזכור|זכרי"
    ).split("|")
)
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


class ReadArguments(BaseModel, extra="forbid"):
    """Which memory, and from where."""

    name: Name = Field(description="its name, or #number as memory_list shows it")
    offset_chars: int = Field(default=0, ge=0, le=1_000_000, description="where a cut read goes on")


class ListArguments(BaseModel, extra="forbid"):
    """What to look for; nothing: all, by name."""

    query: str | None = Field(default=None, max_length=2_000, description="words it should be about")
    big: bool = Field(default=False, description="true: only the ones that are too long, largest first")


class WriteArguments(BaseModel, extra="forbid"):
    """What to keep."""

    name: Name = Field(description="letters, digits, spaces and . : - _; the same name replaces")
    text: str = Field(min_length=1, max_length=memories.MAX_BYTES, description="the whole text")
    tags: list[str] | None = Field(default=None, max_length=memories.MAX_TAGS)
    kind: str | None = Field(
        default=None,
        max_length=32,
        description="fact, preference (how this person wants things) or another word",
    )
    about_me: bool | None = Field(
        default=None,
        description="true: about the person you talk to, for their eyes only; false: about nobody, for all",
    )


class ForgetArguments(BaseModel, extra="forbid"):
    """Which memory."""

    name: Name


def memory_read(turn: Turn, arguments: ReadArguments) -> Outcome:
    """The text, cut where it is long, with a mark that says how to read on."""
    row = find(turn.agent, turn.person, arguments.name)
    if row is None:
        return _not_found(turn, arguments.name)
    total, start = len(row.text), arguments.offset_chars
    if start >= total:
        text = f"There is nothing from character {start} on; the memory has {total}."
        return Outcome(text, is_ok=False, code="offset_too_large")
    head = f"Memory {entry(row).line}:\n"
    cap = turn_options.read(turn_options.MEMORY_READ_MAX_CHARS)
    room = actions.MAX_TEXT_CHARS - len(head) - memory_sizes.MARK_CHARS
    found, end = memory_sizes.part(
        row.text, start, max_chars=min(cap or room, room), estimate=memories.estimate_tokens,
        window_tokens=turn_options.read(turn_options.LLM_CONTEXT_TOKENS),
    )  # fmt: skip
    data = {"memory": row.pk, "start": start, "end": end, "total": total}
    return Outcome(head + memory_sizes.marked(found, start, end, total), data)


def memory_list(turn: Turn, arguments: ListArguments) -> Outcome:
    """Names with kind, size and tags; never what they say."""
    rows = named_memories.seen(turn.agent, turn.person)
    if arguments.big:
        return _listed(list(named_memories.big(rows)[:MAX_LISTED]), BIG_LISTED, "too long")
    if arguments.query and arguments.query.strip():
        found = memories.recall(
            turn.agent, arguments.query, about=turn.person, limit=MAX_RECALLED,
            meaning=meanings.of(arguments.query),
        )  # fmt: skip
        return _listed([one.memory for one in found], MAX_RECALLED, "about that")
    return _listed(list(rows.order_by("name", "id")[: MAX_LISTED + 1]), MAX_LISTED, "kept")


def memory_write(turn: Turn, arguments: WriteArguments) -> Outcome:
    """Create or replace by name; the text of the outcome repeats nothing of it."""
    about = _scope(turn, arguments)
    if about is None and not _may_shared(turn):
        return Outcome(NOT_YOURS, is_ok=False, code="not_allowed")
    row, is_new = named_memories.put(
        turn.agent, about, arguments.name, text=arguments.text, tags=arguments.tags, kind=arguments.kind,
        by=turn.person, door="chat",
    )  # fmt: skip
    whose = "about this person" if about else "about nobody in particular"
    done = "Kept as a new memory" if is_new else "Replaced the memory"
    text = f"{done} {whose}, about {row.n_tokens} tokens. {row.note}".strip()
    return Outcome(text, {"memory": row.pk, "is_new": is_new, "n_tokens": row.n_tokens})


def rewritten(turn: Turn, arguments: WriteArguments) -> list[str]:
    """What stands under that name now: a model that rewrites it may repeat it."""
    about = _scope(turn, arguments)
    row = named_memories.find_in(turn.agent, about, " ".join(arguments.name.split()))
    return [] if row is None else [row.text]


def memory_forget(turn: Turn, arguments: ForgetArguments) -> Outcome:
    """Delete one for good."""
    row = find(turn.agent, turn.person, arguments.name)
    if row is None:
        return _not_found(turn, arguments.name)
    if row.about_id is None and not _may_shared(turn):
        return Outcome(NOT_YOURS, is_ok=False, code="not_allowed")
    memories.delete(row, by=turn.person, door="chat")
    return Outcome("The memory is forgotten.", {"memory": row.pk})


def forget_diff(turn: Turn, arguments: ForgetArguments) -> str:
    """What would be lost, as the person who is asked sees it."""
    row = find(turn.agent, turn.person, arguments.name)
    if row is None or (row.about_id is None and not _may_shared(turn)):
        return ""
    cut = " …" if len(row.text) > DIFF_CHARS else ""
    return f"- {shown_name(row)}\n- {row.text[:DIFF_CHARS]}{cut}"


def _scope(turn: Turn, arguments: WriteArguments) -> Person | None:
    """Whom it is about: as said; else as the memory of that name is; else the person of the turn."""
    if arguments.about_me is not None:
        return turn.person if arguments.about_me else None
    name = " ".join(arguments.name.split())
    if turn.person is None or named_memories.find_in(turn.agent, turn.person, name):
        return turn.person
    is_shared = _may_shared(turn) and named_memories.find_in(turn.agent, None, name)
    return None if is_shared else turn.person


def _may_shared(turn: Turn) -> bool:
    """Whether what is about nobody may be changed: background work, trainers, operators."""
    return turn.person is None or turn.is_operator or turn.still_trained_by_person()


def _not_found(turn: Turn, name: str) -> Outcome:
    near = memories.recall(turn.agent, name, about=turn.person, limit=3)
    names = "; ".join(shown_name(one.memory) for one in near)
    text = f"{NOT_FOUND} Near it: {names}." if names else NOT_FOUND
    return Outcome(text, is_ok=False, code="memory_not_found")


def _listed(rows: list[Memory], limit: int, what: str) -> Outcome:
    if not rows:
        return Outcome(f"No memories are {what}.", {"n": 0})
    lines = [f"- {' '.join(entry(row).line.split())}" for row in rows[:limit]]
    if len(rows) > limit:
        lines.append(
            f"+{len(rows) - limit} more" if limit == BIG_LISTED else "and more; use query to find them"
        )
    return Outcome("\n".join(lines), {"n": len(rows[:limit])})


def register() -> None:
    """Called once when Django starts."""
    actions.register(
        Action("memory_read", "Read one of your memories by its name.", memory_read, ReadArguments)
    )
    actions.register(
        Action("memory_list", "List your memories by name, or find those about something.", memory_list,
               ListArguments)
    )  # fmt: skip
    actions.register(
        Action(
            "memory_write",
            "Keep something for later under a name, or replace what you kept under it. Only what the person "
            "you talk to wants you to remember.",
            memory_write,
            WriteArguments,
            risk="reversible",
            keeps=rewritten,
            spoken=REMEMBER,
        )
    )
    actions.register(
        Action(
            "memory_forget",
            "Forget a memory for good; only when the person you talk to asks for it.",
            memory_forget,
            ForgetArguments,
            risk="needs_approval",
            diff=forget_diff,
        )
    )
