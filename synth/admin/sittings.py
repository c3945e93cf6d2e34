"""Sittings in the admin site, read-only, for operators: what went into a diary, and why something did not."""

from __future__ import annotations

from django.contrib import admin

from synth.admin.base import ReadOnly, ValueFilter
from synth.models import Sitting, SittingStatus


class StatusFilter(ValueFilter):
    """How far it is."""

    title = "status"
    parameter_name = "status"
    values = tuple(SittingStatus.values)


@admin.register(Sitting)
class SittingAdmin(ReadOnly):
    """Each sitting that ended, with the reason where it left no entry."""

    list_display = ("id", "at", "dialogue_id", "status", "reason", "attempt", "entry_id")
    list_filter = (StatusFilter,)
    search_fields = ("=dialogue__id",)
    ordering = ("-id",)
    fields = (
        "dialogue_id", "since", "until", "status", "reason", "detail", "entry_id", "attempt",
        "n_host_failures", "due_at", "lease_until", "at",
    )  # fmt: skip
    readonly_fields = fields
