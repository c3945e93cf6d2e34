"""The app's place in the project; it has no models yet."""

from django.apps import AppConfig


class RemindersConfig(AppConfig):
    """Promises, and everything that reaches a person."""

    name = "reminders"
