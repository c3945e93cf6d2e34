"""Models of the core by name, for tests that look at rows: importing them is the core's own right."""

from __future__ import annotations

from typing import Any

from django.apps import apps

AuditEntry: Any = apps.get_model("synth.AuditEntry")
Message: Any = apps.get_model("synth.Message")
OutboxEvent: Any = apps.get_model("synth.OutboxEvent")
