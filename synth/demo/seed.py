"""Seeds the demo world through the services: what is there already is left exactly as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection, transaction

from synth import registries
from synth.demo.story import Note, Story, stories
from synth.models import Agent, Door, Install, Person
from synth.services import agents, diary, memories, people

LOCK = 7_301_946_250  # any number, the same in every process: one seeding at a time
PROFILES: dict[str, dict[str, Any]] = {
    "operator": {"first_name": "Olive"},
    "trainer": {"first_name": "Tomas", "timezone": "Europe/London"},
    "guest": {"first_name": "Jay", "timezone": "Europe/London"},
}
Passwords = Callable[[Iterable[str]], dict[str, str]]


def is_first_run() -> bool:
    """True when the demo was never seeded here and nobody has made an agent of their own.

    A demo agent alone does not count: it is what a seeding that was cut off left behind.
    """
    if Install.objects.filter(demo_seeded_at__isnull=False).exists():
        return False
    return not Agent.objects.exclude(slug__in=[story.slug for story in stories()]).exists()


def seed(*, at: datetime, passwords: Passwords) -> list[str]:
    """Make the missing persons and agents and say what was made, one line each; nothing made gives no lines.

    `at` is the instant whose local date counts as today. `passwords` gives a password for each username; it
    is asked only for persons made now. Each agent with all it remembers is one transaction.
    """
    made = [f"person {name}" for name in PROFILES if _person(name, passwords)]
    made += [f"agent {story.slug}" for story in stories() if _agent(story, at)]
    _mark(at)
    return made


def _person(name: str, passwords: Passwords) -> bool:
    """Make one demo person with a login; False when a person of that name is there."""
    with transaction.atomic():
        _take_lock()
        if Person.objects.filter(username=name).exists():
            return False
        word = passwords([name])[name]
        person = people.ensure(name, door=Door.COMMAND, **PROFILES[name])
        person.set_password(word)
        person.save(update_fields=["password"])
        if name == "operator":
            people.make_operator(person, by=None, door=Door.COMMAND)
        return True


def _agent(story: Story, at: datetime) -> bool:
    """Make one demo agent with its diary and memories; False when an agent of that slug is there."""
    with transaction.atomic():
        _take_lock()
        if Agent.objects.filter(slug__iexact=story.slug).exists():
            return False
        agent = _bare_agent(story)
        today = at.astimezone(ZoneInfo(story.timezone)).date()
        _fill(agent, story, today)
        for _, seeder in registries.demo_seeders.items():
            seeder(agent, at=at)
        return True


def _bare_agent(story: Story) -> Agent:
    trainers = list(Person.objects.filter(username__in=story.trainers, archived_at=None))
    return agents.create(
        slug=story.slug,
        name=story.name,
        door=Door.COMMAND,
        persona=story.persona,
        likes=story.likes,
        dislikes=story.dislikes,
        timezone=story.timezone,
        language=story.language,
        trainers=trainers,
    )


def _fill(agent: Agent, story: Story, today: date) -> None:
    placed = list(story.placed(today))
    for at, moment in placed:
        diary.write(
            agent,
            content=moment.content,
            at=at,
            source=moment.source,
            people=moment.people,
            tags=moment.tags,
        )
    for note in story.memories:
        _remember(agent, note, at=placed[0][0])


def _remember(agent: Agent, note: Note, *, at: datetime) -> None:
    about = Person.objects.filter(username=note.about).first() if note.about else None
    if note.about and about is None:
        return  # a memory about somebody who is gone would become everybody's
    memories.write(agent, text=note.text, tags=note.tags, kind=note.kind, name=note.name, about=about, at=at)


def _mark(at: datetime) -> None:
    """Remember that the demo was seeded, so that a first run never brings deleted agents back."""
    if not Install.objects.exists():
        Install.objects.create(demo_seeded_at=at)
    Install.objects.filter(demo_seeded_at__isnull=True).update(demo_seeded_at=at)


def _take_lock() -> None:
    """Wait until no other process seeds; given back at the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
