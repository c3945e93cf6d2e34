"""A small install with something in every corner that a backup could lose."""

from __future__ import annotations

from datetime import UTC, datetime

from django.core.management import call_command

from synth.models import Agent, AuditEntry, LlmCall, LlmCallPart, OutboxEvent, Person, PromptPart
from synth.services import diary, memories

AT = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
ODD = "tab\there, line\nend, back\\slash, \\N, quote ', snow ☃, 京都, emoji 🙂, \x7f"


def make(n_memories: int = 5) -> Agent:
    """People, an agent, its diary and memories, a call with parts, an event, an audit entry."""
    person = Person.objects.create_user("mina", password="a long password")
    agent = Agent.objects.create(slug="wren", name="Wren", persona=ODD, likes=["tea", ODD])
    agent.trainers.add(person)
    diary.write(agent, content=ODD, at=AT, people=["mina"])
    for n in range(n_memories):
        memories.write(
            agent,
            text=f"{ODD} number {n}",
            tags=["a", ODD.split(",")[0].replace("\t", " ")],
            about=person if n % 2 else None,
        )
    part = PromptPart.objects.create(sha256="0" * 64, text=ODD)
    call = LlmCall.objects.create(
        agent=agent,
        purpose="reflection",
        backend="scripted",
        outcome="ok",
        response_text=ODD,
        session="cycle:1",
    )
    LlmCallPart.objects.create(call=call, position=0, role="system", part=part)
    OutboxEvent.objects.create(name="synth.thing_done", payload={"text": ODD})
    AuditEntry.objects.create(
        actor=person, actor_label="mina", door="admin", action="x", object="y", after={"a": ODD}
    )
    call_command("migrate", verbosity=0)  # whatever start-up adds to an agent is there before the backup
    return agent
