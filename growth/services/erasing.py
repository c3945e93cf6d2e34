"""Erases what growth keeps of a person: their words and names in selves, cycles, proposals and rewritings.

What an agent wrote from diary entries that go counts as theirs too: such sentences become traces, so that the
core finds their copies in prompts and replies. An agent's own rows go with the agent; what others were sent
of them is scrubbed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q, QuerySet

from growth.models import GrowthRun, GrowthSettings, GrowthState, Proposal, Revision
from growth.selectors import session_of
from growth.services.scrubbing import REMOVED, Scrubber
from growth.services.states import content_hash
from reminders.services import erasing as deliveries
from synth.services import agents, forget
from synth.services.traces import RUN, letters

if TYPE_CHECKING:
    from synth.models import Agent, Person
    from synth.services.erase import Erasure

_CHUNK = 200
TEXTS: tuple[tuple[type[models.Model], tuple[str, ...]], ...] = (
    (GrowthState, ("content", "likes", "dislikes", "evidence")),
    (GrowthRun, ("result", "guards", "detail")),
    (
        Proposal,
        (
            *("content", "likes", "dislikes", "evidence", "base_content", "base_likes", "base_dislikes"),
            *("applied", "feedback", "delivery_error"),
        ),
    ),
    (Revision, ("feedback", "detail", "guards")),
)
AS = {"base_content": "content", "base_likes": "likes", "base_dislikes": "dislikes", "result": ""}
LABELS: tuple[tuple[type[models.Model], str], ...] = (
    (GrowthState, "created_by"),
    (GrowthRun, "created_by"),
    (Proposal, "decided_by"),
)


def erase(erasure: Erasure) -> dict[str, int]:
    """Rows changed, by table."""
    if erasure.agent is not None:
        erasure.traces.add(_long(_written_by(erasure.agent)))
        return {"reminders.Delivery": deliveries.scrub(erasure.traces)}
    person = erasure.person
    if person is None:
        return {}
    scrubber = Scrubber(erasure.traces, set(forget.diary_with(person).values_list("pk", flat=True)))
    counts = _own_words(person, erasure)
    _learn(scrubber)
    erasure.traces.add(_long(scrubber.gone))
    counts["growth.GrowthSettings"] += _addresses(person, scrubber)
    touched = {model: _scrub(model, names, scrubber) for model, names in TEXTS}
    counts.update({model._meta.label: len(ids) for model, ids in touched.items()})
    rewritings = Revision.objects.filter(Q(proposal__in=touched[Proposal]) | Q(result__in=touched[Proposal]))
    _forget_work(GrowthRun.objects.filter(pk__in=touched[GrowthRun]))
    _forget_work(rewritings)
    for model, name in LABELS:
        mine = model._default_manager.filter(**{name: person.username})
        counts[model._meta.label] += mine.update(**{name: f"erased person {person.pk}"})
    counts["reminders.Delivery"] += deliveries.scrub(erasure.traces)
    return dict(+counts)


def _written_by(agent: Agent) -> Iterator[str]:
    """Every self and every proposal of an agent."""
    for model in (GrowthState, Proposal):
        yield from model._default_manager.filter(agent_id=agent.pk).values_list("content", flat=True)


def _own_words(person: Person, erasure: Erasure) -> Counter[str]:
    """What they wanted different goes whole, where they asked and where it led; copies of it are traces."""
    asked = Revision.objects.filter(asked_by_id=person.pk)
    led_to = Q(pk__in=asked.values("result")) | Q(decided_by=person.username)
    proposals = Proposal.objects.filter(led_to).exclude(feedback__in=["", REMOVED])
    said = [*asked.values_list("feedback", flat=True), *proposals.values_list("feedback", flat=True)]
    erasure.traces.add(_long(said))
    ids = list(proposals.values_list("pk", flat=True))
    counts: Counter[str] = Counter()
    counts["growth.Proposal"] += Proposal.objects.filter(pk__in=ids).update(feedback=REMOVED)
    counts["growth.Revision"] += asked.exclude(feedback=REMOVED).update(feedback=REMOVED)
    return counts


def _long(texts: Iterable[str]) -> list[str]:
    """Those that nobody else would say by chance."""
    return [text for text in texts if len(letters(text)) >= RUN]


def _learn(scrubber: Scrubber) -> None:
    """Find what was written from the diary entries that go."""
    if not scrubber.diary_ids:
        return
    for model in (GrowthState, Proposal):
        for row in model._default_manager.exclude(evidence=[]).iterator(chunk_size=_CHUNK):
            scrubber.learn(row.content, row.evidence)
    for result in GrowthRun.objects.exclude(result=None).values_list("result", flat=True).iterator():
        if isinstance(result, dict):
            scrubber.learn(str(result.get("self_growth", "")), result.get("evidence"))


def _addresses(person: Person, scrubber: Scrubber) -> int:
    """Proposals go to trainers' inboxes instead of an address of theirs; live likes lose what names them."""
    n_changed = 0
    for row in GrowthSettings.objects.select_related("agent").iterator(chunk_size=_CHUNK):
        paths = {name: getattr(row, name) for name in ("request_interface_path", "trainer_chat_id")}
        theirs = {
            name: ""
            for name, path in paths.items()
            if scrubber.traces.are_in(path) or path.split("/")[:2] == ["inbox", person.username]
        }
        n_changed += GrowthSettings.objects.filter(pk=row.pk).update(**theirs) if theirs else 0
        likes, dislikes = scrubber.items(row.agent.likes), scrubber.items(row.agent.dislikes)
        if (likes, dislikes) != (row.agent.likes, row.agent.dislikes):
            agents.set_lists(row.agent, likes=likes, dislikes=dislikes, by=None, door="command")
    return n_changed


def _scrub(model: type[models.Model], names: tuple[str, ...], scrubber: Scrubber) -> list[int]:
    """The ids of the rows that held something."""
    touched = []
    for row in model._default_manager.iterator(chunk_size=_CHUNK):
        old = {name: getattr(row, name) for name in names}
        new = {name: scrubber.json(value, AS.get(name, name)) for name, value in old.items()}
        if new != old:
            for name, value in new.items():
                setattr(row, name, value)
            model._default_manager.filter(pk=row.pk).update(**new, **_hashes(row))
            touched.append(row.pk)
    return touched


def _forget_work(rows: QuerySet[GrowthRun] | QuerySet[Revision]) -> None:
    """What a text that is gone shared with the diary goes too, and its prompts and replies on record."""
    for row in rows:
        guards = [
            one | {"shared": []} if isinstance(one, dict) and "shared" in one else one for one in row.guards
        ]
        type(row)._default_manager.filter(pk=row.pk).update(guards=guards)
    forget.forget_sessions(session_of(row) for row in rows if isinstance(row, GrowthRun))


def _hashes(row: models.Model) -> dict[str, Any]:
    """Hashes over what the row holds now, so that a proposal still fits its base and can be decided."""
    if isinstance(row, GrowthState):
        return {"content_hash": content_hash(row.content, row.likes, row.dislikes)}
    if isinstance(row, Proposal):
        base = content_hash(row.base_content, row.base_likes, row.base_dislikes)
        return {"content_hash": content_hash(row.content, row.likes, row.dislikes), "base_hash": base}
    return {}
