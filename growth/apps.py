"""Registers growth with the core."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models import Q
from django.db.models.signals import post_migrate


class GrowthConfig(AppConfig):
    """Weekly reflection."""

    name = "growth"

    def ready(self) -> None:
        """Options, layers, actions, openers, handlers, ticks; nothing here touches the database."""
        from growth import actions, checks, handlers, opener, options, prompts, ticks  # noqa: F401
        from growth.services import erasing
        from synth import registries
        from synth.rowqueue.queues import register_queue

        register_queue("growth_runs", "growth.GrowthRun", Q(status__in=["queued", "running"]))
        register_queue("growth_revisions", "growth.Revision", Q(status__in=["queued", "running"]))
        prompts.register()
        actions.register()
        registries.turn_openers.add("growth.decide", opener.decide)
        registries.demo_seeders.add("growth.judgments_in_audit", _look_only)
        registries.erasers.add("growth.selves", erasing.erase)
        ticks.register()
        post_migrate.connect(_replan, sender=self, dispatch_uid="growth.replan")


def _look_only(agent: Any, **_: Any) -> None:
    """The demo asks growth's judgments beside its own rules, without acting on them."""
    from growth import judgments
    from judgments.services import settings

    for name in (judgments.DECISION, judgments.GROUNDED):
        settings.start_in(name, "audit")


def _replan(using: str, plan: Any = None, **_: Any) -> None:
    """After a migrate every agent has a settings row and a planned cycle."""
    from django.db import connections
    from django.utils.timezone import now

    from growth.services import clock

    tables = set(connections[using].introspection.table_names())
    if {"growth_growthsettings", "growth_growthrun", "synth_agent"} <= tables:
        clock.recompute_all(now())
