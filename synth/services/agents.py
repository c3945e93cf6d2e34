"""Agents: made, changed, archived. Each change leaves an audit entry and an event in its transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.timezone import now

from synth.errors import Conflict, Invalid, Refused
from synth.models import Agent, Door, Person
from synth.services import audit, fields, outbox, people

RESERVED_SLUGS = frozenset({"import", "runs", "report", "me"})
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
PURPOSES = ("chat", "grillo", "judge")
MAX_PERSONA_CHARS = 100_000
MAX_TOKEN_CAP = 2_147_483_647


def check_slug(value: object, field: str = "slug") -> str:
    """Letters, digits, `-` and `_`, at most 64; Refused for the names the API itself uses."""
    slug = fields.text(value, field, max_chars=64, is_blank_allowed=False)
    if not SLUG.fullmatch(slug):
        raise Invalid("Letters, digits, - and _ only, a letter or digit first.", field=field)
    if slug.lower() in RESERVED_SLUGS:
        raise Refused(f"{slug} is a reserved name.", field=field, code="slug_reserved")
    return slug


def _overrides(value: object, field: str) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) - set(PURPOSES):
        raise Invalid(f"An object with the keys {', '.join(PURPOSES)} is needed.", field=field)
    cleaned = {purpose: fields.one_line(model, field, max_chars=200) for purpose, model in value.items()}
    return {purpose: model for purpose, model in cleaned.items() if model}


def _cap(value: object, field: str) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKEN_CAP
    if value is not None and not is_number:
        raise Invalid("A whole number of tokens, or null, is needed.", field=field)
    return value if isinstance(value, int) else None


def _persons(value: object, field: str) -> list[Person]:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise Invalid("A list of persons is needed.", field=field)
    found = {person.pk: person for person in value}
    if any(person.archived_at is not None for person in found.values()):
        raise Refused("An archived person cannot be named.", field=field, code="person_archived")
    return list(found.values())


CHECKS: dict[str, Callable[[object, str], Any]] = {
    "slug": check_slug,
    "name": lambda value, field: fields.one_line(value, field, max_chars=100, is_blank_allowed=False),
    "persona": lambda value, field: fields.text(value, field, max_chars=MAX_PERSONA_CHARS),
    "likes": fields.items,
    "dislikes": fields.items,
    "timezone": fields.zone,
    "language": fields.language,
    "interface_path": lambda value, field: fields.one_line(value, field, max_chars=200),
    "model_overrides": _overrides,
    "local_only": fields.flag,
    "daily_token_cap": _cap,
    "trainers": _persons,
    "people": _persons,
}
TO_MANY = ("trainers", "people")


def _checked(changes: Mapping[str, object]) -> dict[str, Any]:
    unknown = sorted(set(changes) - set(CHECKS))
    if unknown:
        raise Invalid("There is no such field, or it never changes.", field=unknown[0], code="unknown_field")
    return {name: CHECKS[name](value, name) for name, value in changes.items()}


def _likes_win(values: dict[str, Any], row: Agent) -> None:
    """What is in both lists is a like."""
    if "likes" in values or "dislikes" in values:
        liked = {item.casefold() for item in values.get("likes", row.likes)}
        dislikes = values.get("dislikes", row.dislikes)
        values["dislikes"] = [item for item in dislikes if item.casefold() not in liked]


def create(
    *, slug: str, name: str, by: Person | None = None, door: str = Door.COMMAND, **values: object
) -> Agent:
    """A new agent; `values` are any of `CHECKS`. Conflict `slug_taken` when one has the slug, ignoring case.

    The first persona that is not blank becomes the founding persona.
    """
    checked = _checked({"slug": slug, "name": name, **values})
    related = {field: checked.pop(field) for field in TO_MANY if field in checked}
    agent = Agent()
    _likes_win(checked, agent)
    for field, value in checked.items():
        setattr(agent, field, value)
    agent.founding_persona = agent.persona
    with transaction.atomic():
        _save_unique(agent)
        for field, chosen in related.items():
            getattr(agent, field).set(chosen)
        people.sync_trainer_rights(related.get("trainers", []))
        audit.record(
            by,
            door=door,
            action="agent_create",
            object=f"synth.agent:{agent.pk}",
            agent=agent,
            after=_plain({**checked, **related}),
        )
        outbox.publish("synth.agent_created", {"agent_id": agent.pk})
    return agent


def _save_unique(agent: Agent, **kwargs: Any) -> None:
    taken = Conflict("An agent of that slug exists.", code="slug_taken", field="slug")
    if Agent.objects.filter(slug__iexact=agent.slug).exclude(pk=agent.pk).exists():
        raise taken
    try:
        with transaction.atomic():
            agent.save(**kwargs)
    except IntegrityError:
        raise taken from None


def update(agent: Agent, changes: Mapping[str, object], *, by: Person | None, door: str) -> Agent:
    """Change the named fields and give the saved row; what is already so leaves no trace."""
    values = _checked(changes)
    with transaction.atomic():
        row = Agent.objects.select_for_update(of=("self",)).get(pk=agent.pk)
        if row.archived_at is not None:
            raise Conflict(
                "The agent is archived.", code="agent_archived", archived_at=row.archived_at.isoformat()
            )
        _likes_win(values, row)
        before = _differences(row, values)
        if not before:
            return row
        _save_scalars(row, {field: values[field] for field in before if field not in TO_MANY})
        for field in TO_MANY:
            if field in before:
                getattr(row, field).set(values[field])
        if "trainers" in before:
            people.sync_trainer_rights({p.pk: p for p in [*before["trainers"], *values["trainers"]]}.values())
        after = {field: values[field] for field in before}
        audit.record(
            by,
            door=door,
            action="agent_update",
            object=f"synth.agent:{row.pk}",
            agent=row,
            before=_plain(before),
            after=_plain(after),
        )
        outbox.publish("synth.agent_changed", {"agent_id": row.pk, "fields": sorted(before)})
    return row


def _differences(row: Agent, values: Mapping[str, Any]) -> dict[str, Any]:
    """The old values of what would change."""
    before: dict[str, Any] = {}
    for field, value in values.items():
        old = list(getattr(row, field).all()) if field in TO_MANY else getattr(row, field)
        is_same = {p.pk for p in old} == {p.pk for p in value} if field in TO_MANY else old == value
        if not is_same:
            before[field] = old
    return before


def _save_scalars(row: Agent, values: Mapping[str, Any]) -> None:
    for field, value in values.items():
        setattr(row, field, value)
    if not row.founding_persona:
        row.founding_persona = row.persona
    if values:
        _save_unique(row)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values as JSON can hold them: persons by username."""
    return {
        field: [person.username for person in value] if field in TO_MANY else value
        for field, value in values.items()
    }


def set_lists(
    agent: Agent, *, likes: Iterable[str], dislikes: Iterable[str], by: Person | None, door: str
) -> Agent:
    """Replace the live likes and dislikes, the only home of both."""
    return update(agent, {"likes": list(likes), "dislikes": list(dislikes)}, by=by, door=door)


def archive(agent: Agent, *, by: Person | None, door: str) -> None:
    """Put the agent away: nobody talks to it, nothing runs for it. Conflict when already archived."""
    _move_archived(agent, now(), by=by, door=door)


def unarchive(agent: Agent, *, by: Person | None, door: str) -> None:
    """Bring an archived agent back. Conflict when it is not archived."""
    _move_archived(agent, None, by=by, door=door)


def _move_archived(agent: Agent, at: Any, *, by: Person | None, door: str) -> None:
    is_archiving = at is not None
    with transaction.atomic():
        seen = Agent.objects.filter(pk=agent.pk, archived_at__isnull=is_archiving)
        if not seen.update(archived_at=at, updated_at=now()):
            message = "The agent is already archived." if is_archiving else "The agent is not archived."
            raise Conflict(message, code="agent_archived" if is_archiving else "agent_not_archived")
        audit.record(
            by,
            door=door,
            action="agent_archive" if is_archiving else "agent_unarchive",
            object=f"synth.agent:{agent.pk}",
            agent=agent,
        )
        outbox.publish("synth.agent_changed", {"agent_id": agent.pk, "fields": ["archived_at"]})
    agent.refresh_from_db()
