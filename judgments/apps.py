"""Registers judgments with the core."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.db.models import Q
from django.utils.module_loading import module_has_submodule


class JudgmentsConfig(AppConfig):
    """System 1: cheap typed questions."""

    name = "judgments"

    def ready(self) -> None:
        """Options, ticks, registries, and what each app declares; nothing here touches the database."""
        from judgments import checks, declared, listed_models, options, registry, ticks, wiring  # noqa: F401
        from synth.rowqueue.queues import register_queue

        register_queue("judgments_later", "judgments.LaterAsk", Q(status__in=["queued", "running"]))
        ticks.register()
        wiring.register()
        listed_models.register()
        for config in apps.get_app_configs():
            if config.name != self.name and module_has_submodule(config.module, "judgments"):
                registry.load(f"{config.name}.judgments")
