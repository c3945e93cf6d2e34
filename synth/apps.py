"""Registers the core's own layers, handlers, ticks and checks."""

from django.apps import AppConfig
from django.db.models import Q
from django.db.models.signals import post_migrate


class SynthConfig(AppConfig):
    """People, agents, diary, memories, outbox, language models."""

    name = "synth"
    verbose_name = "Core"

    def ready(self) -> None:
        """One line for each thing that registers itself; keep it a list."""
        from synth import (  # noqa: F401 - checks register when imported
            approval_options,  # noqa: F401 - declares its option
            background,
            checks,
            memory_actions,
            metrics,
            registries,
            turn_options,
        )
        from synth.llm import door, local_host  # noqa: F401 - the door declares its fault points
        from synth.net import client_address  # noqa: F401 - binds it to log lines
        from synth.prompts import core_layers, memory_layers
        from synth.rowqueue.queues import register_queue
        from synth.services import check_ins, dialogues, toolkits  # noqa: F401 - declare their fault points
        from synth.toolkits import register_core

        background.register_tick("synth.drain_outbox", "synth.tasks.drain_outbox")
        background.register_tick("synth.prune_outbox", "synth.tasks.prune_outbox", every_s=3600)
        background.register_tick("synth.settle_turns", "synth.tasks.settle_turns")
        background.register_tick("synth.end_sittings", "synth.tasks.end_sittings")
        registries.erasers.add("synth.dialogues", dialogues.erase_of)
        registries.model_runners.add(local_host.KIND, local_host.make_runner)
        local_host.register()
        background.register_tick("synth.tend_approvals", "synth.tasks.tend_approvals")
        background.register_tick("synth.let_go", "synth.tasks.let_go", every_s=3600)
        background.register_tick("synth.let_dialogues_go", "synth.tasks.let_dialogues_go", every_s=3600)
        background.register_tick("synth.make_memory_vectors", "synth.tasks.make_memory_vectors")
        register_queue("outbox", "synth.EventHandling", Q(status="waiting"))
        register_queue("sittings", "synth.Sitting", Q(status__in=["queued", "running"]))
        registries.turn_observers.add("synth.toolkits", toolkits.look)
        register_core()
        metrics.register()
        core_layers.register_all()
        memory_layers.register_all()
        memory_actions.register()
        post_migrate.connect(background.ensure_ticks, sender=self)
