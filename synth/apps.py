"""Registers the core's own layers, handlers, ticks and checks."""

from django.apps import AppConfig


class SynthConfig(AppConfig):
    """People, agents, diary, memories, outbox, language models."""

    name = "synth"
    verbose_name = "Core"
