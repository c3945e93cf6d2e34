"""Registers growth with the core."""

from django.apps import AppConfig


class GrowthConfig(AppConfig):
    """Weekly reflection."""

    name = "growth"
