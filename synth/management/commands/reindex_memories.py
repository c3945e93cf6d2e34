"""Builds the search words of memories anew, for example after an update that reads words differently."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from synth.models import Agent
from synth.services import memories


class Command(BaseCommand):
    """`reindex_memories [SLUG …]`; all agents when none is named."""

    help = "Build the search words of memories anew; writers of an agent wait meanwhile."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", nargs="*", help="agents; default all")

    def handle(self, *args: Any, **options: Any) -> None:
        agents = Agent.objects.order_by("slug")
        if options["slug"]:
            agents = agents.filter(slug__in=options["slug"])
            if missing := set(options["slug"]) - {agent.slug for agent in agents}:
                raise CommandError(f"no agent {', '.join(sorted(missing))}")
        for agent in agents:
            self.stdout.write(f"{agent.slug}: {memories.reindex(agent)} memories")
