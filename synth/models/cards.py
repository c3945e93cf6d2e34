"""The character cards agents came from."""

from __future__ import annotations

from django.db import models
from django.utils.timezone import now


class CharacterCard(models.Model):
    """The card an agent was imported from, kept as it came so that an export loses nothing.

    `text` is its JSON; `picture` the PNG it came in, `archive` the CHARX (both null where it was neither).
    """

    agent = models.OneToOneField(
        "synth.Agent", primary_key=True, on_delete=models.CASCADE, related_name="card"
    )
    text = models.TextField()
    picture = models.BinaryField(null=True, blank=True)
    archive = models.BinaryField(null=True, blank=True)
    at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return f"card of {self.agent_id}"
