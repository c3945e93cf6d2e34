"""Registers reminders with the core."""

from django.apps import AppConfig
from django.db.models import Q


class RemindersConfig(AppConfig):
    """Promises, and everything that reaches a person."""

    name = "reminders"

    def ready(self) -> None:
        """Options, ticks, the queue, the eraser, metrics; nothing here touches the database."""
        from reminders import handlers, metrics, options, ticks  # noqa: F401 - what declares itself when imported
        from reminders.services import erasing
        from synth import registries
        from synth.rowqueue.queues import register_queue

        ticks.register()
        register_queue("deliveries", "reminders.Delivery", Q(status="queued"))
        registries.erasers.add("reminders.deliveries", erasing.erase)
        metrics.register()
