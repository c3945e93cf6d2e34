"""The app's place in the project; it has no models yet."""

from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    """System 1: cheap typed questions."""

    name = "judgments"
