"""The hard erase of a person or an agent, with a receipt of what went and what is left.

Apps erase their own rows by adding a function to `synth.registries.erasers`; it gets an `Erasure` and returns
counts by table. Everything happens in one transaction; a dry run is the same transaction rolled back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import ProtectedError, RestrictedError

from synth import registries
from synth.errors import NotFound
from synth.models import (
    Agent,
    AuditEntry,
    Dialogue,
    Door,
    IdempotentAnswer,
    LlmCallPart,
    OutboxEvent,
    Person,
)
from synth.prompts.parts import REMOVED
from synth.services import audit, dialogue_deletion, forget, kept_answers, leftovers, memories, retention
from synth.services.deadlocks import repeated
from synth.services.traces import Traces

_CHUNK = 500


@dataclass(frozen=True)
class Erasure:
    """What is being erased: a person, an agent, or only `sessions`; `traces` finds copies of its words.

    `sessions` are the dialogues that go with it, as `dialogue:<id>`.
    """

    person: Person | None
    agent: Agent | None
    traces: Traces
    at: datetime
    sessions: tuple[str, ...] = ()


@dataclass
class Receipt:
    """What an erase did: rows by eraser and table; `leftovers` are rows that still hold a name or a copy."""

    subject: str
    at: str
    is_dry_run: bool
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    leftovers: dict[str, int] = field(default_factory=dict)
    note: str = "Backups made before this still hold what was erased: delete or replace them."

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@repeated
def erase_person(username: str, *, at: datetime, is_dry_run: bool = False) -> Receipt:
    """Erase a person: what is about them, copies of it, their keys and logins. NotFound for an unknown name.

    Memories about them and diary entries that list them go. Where another app must keep a row of theirs
    (a ledger), the person stays as an anonymous owner.
    """
    with transaction.atomic():
        person = Person.objects.select_for_update().filter(username=username).first()
        if person is None:
            raise NotFound(f"There is no person {username}.")
        receipt = Receipt(f"synth.person:{person.pk}", at.isoformat(), is_dry_run)
        names = forget.names_of(person)
        sessions = dialogue_sessions(Dialogue.objects.filter(person=person))
        erasure = Erasure(person, None, forget.traces_of(person), at, sessions)
        _ask_apps(erasure, receipt)
        receipt.counts["core"] = dict(sorted(_person_rows(person, erasure.traces).items()))
        _finish(receipt, names, erasure.traces)
    return receipt


@repeated
def erase_agent(slug: str, *, at: datetime, is_dry_run: bool = False) -> Receipt:
    """Erase an agent with its diary, memories, growth and prompts. NotFound for an unknown slug."""
    with transaction.atomic():
        agent = Agent.objects.select_for_update().filter(slug=slug).first()
        if agent is None:
            raise NotFound(f"There is no agent {slug}.")
        receipt = Receipt(f"synth.agent:{agent.pk}", at.isoformat(), is_dry_run)
        traces = forget.traces_of_agent(agent)
        sessions = dialogue_sessions(Dialogue.objects.filter(agent=agent))
        _ask_apps(Erasure(None, agent, traces, at, sessions), receipt)
        receipt.counts["core"] = dict(sorted(_agent_rows(agent, traces).items()))
        _finish(receipt, [slug], traces)
    return receipt


def dialogue_sessions(rows: models.QuerySet[Dialogue]) -> tuple[str, ...]:
    """The sessions of these dialogues."""
    return tuple(f"dialogue:{pk}" for pk in rows.values_list("pk", flat=True))


def _ask_apps(erasure: Erasure, receipt: Receipt) -> None:
    for name, eraser in registries.erasers.items():
        receipt.counts[name] = eraser(erasure)


def _finish(receipt: Receipt, names: list[str], traces: Traces) -> None:
    """The audit entry, which names nobody; the look at what is left; the end of a dry run."""
    audit.record(
        "erase", door=Door.COMMAND, action="erase", object=receipt.subject, after={"counts": receipt.counts}
    )
    receipt.leftovers = leftovers.count(names, traces)
    if receipt.is_dry_run:
        transaction.set_rollback(True)


def _person_rows(person: Person, traces: Traces) -> Counter[str]:
    pk, username = person.pk, person.username
    counts: Counter[str] = Counter(forget.forget_traces(traces))
    counts["synth.DiaryEntry"] += forget.diary_with(person).delete()[0]
    counts["synth.Memory"] += memories.delete_about(person)
    ours = AuditEntry.objects.filter(actor=person) | AuditEntry.objects.filter(actor_label=username)
    counts["synth.AuditEntry"] += ours.update(actor=None, actor_label=f"erased person {pk}")
    own = AuditEntry.objects.filter(object=f"synth.person:{pk}")
    counts["synth.AuditEntry"] += own.update(before=None, after=None, reason="")
    counts += _scrub_copies(traces)
    counts += _logins(person)
    counts += _remove(person)
    return counts


def _agent_rows(agent: Agent, traces: Traces) -> Counter[str]:
    counts: Counter[str] = Counter()
    parts = set(LlmCallPart.objects.filter(call__agent=agent).values_list("part_id", flat=True))
    # First: it knows by an audit entry's reason that its action is words of a model.
    counts.update(dialogue_deletion.forget_around(list(Dialogue.objects.filter(agent=agent).only("pk"))))
    counts["synth.AuditEntry"] += AuditEntry.objects.filter(agent=agent).update(
        before=None, after=None, reason=""
    )
    counts["admin.LogEntry"] += _log_entries(agent).delete()[0]
    events = OutboxEvent.objects.filter(payload__agent_id=agent.pk) | OutboxEvent.objects.filter(
        payload__agent=agent.pk
    )
    counts["synth.OutboxEvent"] += events.delete()[0]
    counts += _scrub_copies(traces)
    counts["synth.IdempotentAnswer"] += kept_answers.forget_agent(agent.slug)
    counts += Counter(_by_label(agent.delete()[1]))
    counts["synth.PromptPart"] += retention.delete_orphans(parts)
    return counts


def _by_label(deleted: dict[str, int]) -> dict[str, int]:
    return {label: n for label, n in deleted.items() if n}


_COPIES: tuple[tuple[type[models.Model], tuple[str, ...]], ...] = (
    (AuditEntry, ("before", "after", "reason")),
    (OutboxEvent, ("payload",)),
)


def _scrub_copies(traces: Traces) -> Counter[str]:
    """Replace strings that hold a trace in rows that stay; answers to repeated requests go whole."""
    counts: Counter[str] = Counter({"synth.IdempotentAnswer": kept_answers.forget_traces(traces)})
    for model, names in _COPIES if traces else ():
        for row in model._default_manager.only("pk", *names).iterator(chunk_size=_CHUNK):
            old = {name: getattr(row, name) for name in names}
            new = {name: traces.scrub(value, REMOVED) for name, value in old.items()}
            if new != old:
                model._default_manager.filter(pk=row.pk).update(**new)
                counts[model._meta.label] += 1
    return counts


def _log_entries(row: models.Model) -> models.QuerySet[LogEntry]:
    kind = ContentType.objects.get_for_model(row)
    return LogEntry.objects.filter(content_type=kind, object_id=str(row.pk))


def _logins(person: Person) -> Counter[str]:
    """Sessions, login attempts and the admin's own notes about a person."""
    from axes.models import AccessAttempt, AccessFailureLog, AccessLog

    counts: Counter[str] = Counter()
    counts["admin.LogEntry"] += _log_entries(person).delete()[0]
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        counts[model._meta.label] += model.objects.filter(username=person.username).delete()[0]
    mine = [
        row.pk
        for row in Session.objects.iterator()
        if row.get_decoded().get("_auth_user_id") == str(person.pk)
    ]
    counts["sessions.Session"] += Session.objects.filter(pk__in=mine).delete()[0]
    return counts


def _remove(person: Person) -> Counter[str]:
    """Delete the row, or make it anonymous where another app must keep rows that point to it."""
    try:
        with transaction.atomic():
            return Counter(_by_label(person.delete()[1]))
    except (ProtectedError, RestrictedError):
        return _anonymise(person)


def _anonymise(person: Person) -> Counter[str]:
    blank = Person(username=f"erased-{person.pk}", is_active=False, date_joined=person.date_joined)
    blank.pk, blank.archived_at = person.pk, person.archived_at
    blank.has_proactive_consent = False
    blank.set_unusable_password()
    blank.save(force_update=True)
    counts: Counter[str] = Counter({"synth.Person": 1})
    counts["synth.ApiKey"] += person.api_keys.all().delete()[0]
    counts["synth.IdempotentAnswer"] += IdempotentAnswer.objects.filter(actor=person).delete()[0]
    for relation in (person.trained_agents, person.reserved_agents, person.groups, person.user_permissions):
        relation.clear()
    return counts
