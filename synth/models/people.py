"""Persons and their API keys."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.timezone import now


class Person(AbstractUser):
    """Somebody who talks to agents, trains them or runs the server; also the login of the admin site.

    What a lower app must know about a person (quiet hours, consent, crisis, minor) lives here and is written
    through `synth.services.people`.
    """

    timezone = models.CharField(max_length=64, default="UTC", help_text="IANA name, for example Europe/Rome")
    language = models.CharField(max_length=16, default="en", help_text="BCP 47 tag")
    country = models.CharField(max_length=2, blank=True, help_text="ISO 3166-1 alpha-2")
    quiet_hours = models.JSONField(
        null=True, blank=True, help_text='{"start": "22:00", "end": "07:00"} local'
    )
    is_minor = models.BooleanField(default=False)
    has_proactive_consent = models.BooleanField(default=True)
    has_gift_memory_consent = models.BooleanField(null=True, blank=True, help_text="null: not asked yet")
    crisis_until = models.DateTimeField(null=True, blank=True)
    is_operator = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "persons"

    def __str__(self) -> str:
        return self.username


class Role(models.TextChoices):
    """What a key may do; it only narrows what its person may."""

    OPERATOR = "operator"
    TRAINER = "trainer"
    PERSON = "person"
    APP = "app"


class ApiKey(models.Model):
    """A bearer key. The key itself is not stored: `sha256` is its hash, `prefix` the part shown to people."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100, blank=True)
    role = models.CharField(max_length=16, choices=Role)
    scopes = models.JSONField(default=list, blank=True)
    prefix = models.CharField(max_length=16)
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.role} {self.person_id})"

    def revoked(self) -> bool:
        """True once the key no longer opens anything."""
        return self.revoked_at is not None
