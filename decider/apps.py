"""The app's place in the project; it has no models yet."""

from django.apps import AppConfig


class DeciderConfig(AppConfig):
    """Whether to speak first."""

    name = "decider"
