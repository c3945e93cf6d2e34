"""The app's place in the project; it has no models yet."""

from django.apps import AppConfig


class GiftsConfig(AppConfig):
    """Codes, coins and settlements."""

    name = "gifts"
