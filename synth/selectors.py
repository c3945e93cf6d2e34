"""Reads of the core used twice or more: agents by who may see them, persons by name, diary by time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from synth.models import (
    Agent,
    Approval,
    Dialogue,
    DiaryEntry,
    Install,
    Memory,
    Message,
    MessageStatus,
    Person,
)
from synth.schemas import Caller


def person_by_username(username: str) -> Person | None:
    """The living person of that name, or None."""
    return Person.objects.filter(username=username, archived_at=None, is_active=True).first()


def is_plain(person: Person) -> bool:
    """True for one who neither runs the server nor trains an agent."""
    has_power = person.is_operator or person.is_staff or person.is_superuser
    return not has_power and not person.trained_agents.exists()


def agents() -> QuerySet[Agent]:
    """Every agent that is not archived, by slug."""
    return Agent.objects.filter(archived_at=None)


def agent_by_id(agent_id: int) -> Agent | None:
    """The agent, archived or not, or None."""
    return Agent.objects.filter(pk=agent_id).first()


def agent_by_slug(slug: str) -> Agent | None:
    """The agent, archived or not, or None."""
    return Agent.objects.filter(slug=slug).first()


def agents_trained(caller: Caller) -> QuerySet[Agent]:
    """The agents this caller may steer, archived ones included."""
    if caller.is_operator:
        return Agent.objects.all()
    if not caller.may_train:
        return Agent.objects.none()
    return Agent.objects.filter(pk__in=caller.person.trained_agents.values("pk"))


def agents_seen(caller: Caller) -> QuerySet[Agent]:
    """The agents this caller may see: open to all, open to them, or theirs to steer."""
    if caller.is_operator:
        return Agent.objects.all()
    mine = Agent.people.through.objects.filter(person_id=caller.person.pk).values("agent_id")
    reserved = Agent.people.through.objects.values("agent_id")
    is_open = Q(archived_at=None) & (Q(pk__in=mine) | ~Q(pk__in=reserved))
    return Agent.objects.filter(is_open | Q(pk__in=agents_trained(caller).values("pk")))


def diary_between(agent: Agent, start: datetime, end: datetime) -> list[DiaryEntry]:
    """Entries of `[start, end)`, oldest first."""
    return list(DiaryEntry.objects.filter(agent=agent, at__gte=start, at__lt=end).order_by("at", "id"))


def diary(agent: Agent) -> QuerySet[DiaryEntry]:
    """All entries of an agent, newest first."""
    return DiaryEntry.objects.filter(agent=agent).order_by("-at", "-id")


def memories(agent: Agent) -> QuerySet[Memory]:
    """All memories of an agent with the person each is about, newest first."""
    return Memory.objects.filter(agent=agent).select_related("about").order_by("-at", "-id")


def dialogue_by_id(dialogue_id: str) -> Dialogue | None:
    """The dialogue of that UUID with its person, archived or not, or None."""
    return Dialogue.objects.select_related("person").filter(pk=dialogue_id).first()


def dialogues_of(person: Person) -> QuerySet[Dialogue]:
    """A person's dialogues, archived ones included, last used first."""
    return Dialogue.objects.filter(person=person).select_related("agent").order_by("-at", "-id")


def messages_of(dialogue: Dialogue) -> QuerySet[Message]:
    """The whole tree of a dialogue, oldest first."""
    return Message.objects.filter(dialogue=dialogue).select_related("author").order_by("at", "id")


def is_any_turn_running(at: datetime) -> bool:
    """Whether some agent is answering somebody, in a process that still lives at `at`."""
    return Message.objects.filter(status=MessageStatus.STREAMING, lease_until__gt=at).exists()


def approval_by_id(approval_id: UUID) -> Approval | None:
    """The question with its agent and person, or None."""
    return Approval.objects.select_related("agent", "person").filter(pk=approval_id).first()


def approvals_in(dialogue_ids: Iterable[str]) -> list[UUID]:
    """Ids of everything that was asked in these dialogues."""
    return list(Approval.objects.filter(dialogue__in=list(dialogue_ids)).values_list("pk", flat=True))


def epoch() -> str:
    """Names the line of this install's stream ids: 32 hexadecimal digits, new after a restore."""
    found = Install.objects.values_list("epoch", flat=True).first()
    return found.hex if found is not None else "0" * 32
