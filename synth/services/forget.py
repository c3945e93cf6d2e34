"""Deep forget: the text of prompts and replies on record goes, the rows that count and date them stay."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from synth.models import Agent, Dialogue, DiaryEntry, LlmCall, LlmCallPart, Memory, Person, PromptPart
from synth.prompts import parts as prompt_parts
from synth.prompts.parts import REMOVED
from synth.services.traces import Traces

_CHUNK = 500


def forget(hashes: Iterable[str]) -> dict[str, int]:
    """Put `[removed]` in place of these prompt parts and of replies to prompts with them; counts by table."""
    hashes = list(hashes)
    with transaction.atomic():
        n_parts = prompt_parts.forget(hashes)
        n_calls = _clear(LlmCall.objects.filter(call_parts__part_id__in=hashes).distinct())
    return {"synth.PromptPart": n_parts, "synth.LlmCall": n_calls}


def forget_traces(traces: Traces) -> dict[str, int]:
    """Forget every part and reply that holds a trace; counts by table."""
    with transaction.atomic():
        rows = PromptPart.objects.filter(is_removed=False).iterator(chunk_size=_CHUNK)
        counts = forget([row.sha256 for row in rows if traces.are_in(row.text)])
        replies = LlmCall.objects.exclude(response_text__in=["", REMOVED], error="", tool_calls=[]).only(
            "response_text", "error", "tool_calls"
        )
        found = [
            row.pk
            for row in replies.iterator(chunk_size=_CHUNK)
            if any(map(traces.are_in, (row.response_text, row.error, _json(row.tool_calls))))
        ]
        counts["synth.LlmCall"] += _clear(LlmCall.objects.filter(pk__in=found))
    return counts


def forget_agent(agent: Agent) -> dict[str, int]:
    """Forget all that was sent and answered in the name of an agent, except what others sent too."""
    return _forget_calls(LlmCall.objects.filter(agent=agent))


def forget_sessions(sessions: Iterable[str]) -> dict[str, int]:
    """Forget the bodies of pieces of work (`cycle:12`) that go together, also what only they share.

    Their owner calls this when the rows of the work go.
    """
    return _forget_calls(LlmCall.objects.filter(session__in=list(sessions)))


def _forget_calls(calls: QuerySet[LlmCall]) -> dict[str, int]:
    ids = list(calls.values_list("pk", flat=True))
    with transaction.atomic():
        ours = set(LlmCallPart.objects.filter(call_id__in=ids).values_list("part_id", flat=True))
        shared = _of_others(LlmCallPart.objects.filter(part_id__in=ours).exclude(call_id__in=ids))
        n_parts = prompt_parts.forget(sorted(ours - shared))
        if shared:
            # Another dialogue with the same words may be on its way out, unseen by us as we are by it.
            transaction.on_commit(lambda: _forget_unshared(shared), robust=True)
        return {"synth.PromptPart": n_parts, "synth.LlmCall": _clear(LlmCall.objects.filter(pk__in=ids))}


def _forget_unshared(hashes: set[str]) -> None:
    """Forget those of the parts that only deleted dialogues sent."""
    with transaction.atomic():
        prompt_parts.forget(sorted(hashes - _of_others(LlmCallPart.objects.filter(part_id__in=hashes))))


def _of_others(links: QuerySet[LlmCallPart]) -> set[str]:
    """The parts among these links that somebody else than a deleted dialogue sent."""
    links = links.exclude(call__session__in=_deleted_dialogues(links))
    return set(links.values_list("part_id", flat=True).distinct())


def _deleted_dialogues(links: QuerySet[LlmCallPart]) -> list[str]:
    """Sessions among these of dialogues that are gone: their calls are forgotten, so nothing is theirs."""
    head = "dialogue:"
    forgotten = links.filter(call__response_text=REMOVED, call__session__startswith=head)
    names = set(forgotten.values_list("call__session", flat=True))
    left = Dialogue.objects.filter(pk__in=[name.removeprefix(head) for name in names])
    return sorted(names - {f"{head}{pk}" for pk in left.values_list("pk", flat=True)})


def _clear(calls: QuerySet[LlmCall]) -> int:
    ids = list(calls.exclude(response_text=REMOVED).values_list("pk", flat=True))
    return LlmCall.objects.filter(pk__in=ids).update(response_text=REMOVED, error="", tool_calls=[])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def names_of(person: Person) -> list[str]:
    """What a person is called in texts: username, full name, mail address."""
    return [name for name in (person.username, person.get_full_name(), person.email) if name.strip()]


def diary_with(person: Person) -> QuerySet[DiaryEntry]:
    """Diary entries that list a person among their people, by username or full name, ignoring case."""
    names = {name.casefold() for name in (person.username, person.get_full_name()) if name.strip()}
    likely = DiaryEntry.objects.exclude(people=[]).values_list("pk", "people")
    found = [pk for pk, people in likely.iterator(chunk_size=2000) if names & {_folded(p) for p in people}]
    return DiaryEntry.objects.filter(pk__in=found)


def _folded(value: Any) -> str:
    return str(value).casefold()


def traces_of(person: Person) -> Traces:
    """The texts about a person and their names, to look for in copies."""
    memories = Memory.objects.filter(Q(about=person)).values_list("text", flat=True)
    diary = diary_with(person).values_list("content", flat=True)
    return Traces([*memories, *diary], names_of(person))


def traces_of_agent(agent: Agent) -> Traces:
    """The texts of an agent, to look for in copies."""
    texts = [agent.persona, agent.founding_persona]
    texts += Memory.objects.filter(agent=agent).values_list("text", flat=True)
    return Traces([*texts, *DiaryEntry.objects.filter(agent=agent).values_list("content", flat=True)])
