"""Deliveries in the admin site, for operators: the failed ones first, every try on the page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from reminders.channels import CHANNELS
from reminders.models import Delivery, DeliveryKind, DeliveryStatus, RemoteHost
from reminders.services import inbox
from synth.admin.base import ReadOnly, ValueFilter, steward


class StatusFilter(admin.SimpleListFilter):
    """Failed deliveries unless another status is asked for: they are what an operator must look at."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        others = [status for status in DeliveryStatus.values if status != DeliveryStatus.FAILED]
        return [(value, value) for value in (*others, "all")]

    def choices(self, changelist: Any) -> Any:
        first, *others = super().choices(changelist)
        return [{**first, "display": "failed"}, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value() or DeliveryStatus.FAILED
        return queryset if value == "all" else queryset.filter(status=value)


class ChannelFilter(ValueFilter):
    """Which way it goes."""

    title = "channel"
    parameter_name = "channel"
    values = tuple(CHANNELS)


class KindFilter(ValueFilter):
    """What it is about."""

    title = "kind"
    parameter_name = "kind"
    values = tuple(DeliveryKind.values)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly):
    """What was sent to whom, and what became of it. "Try again" gives failed ones all their tries anew."""

    list_display = ("id", "at", "kind", "title", "interface_path", "status", "n_failures", "last_try")
    list_filter = (StatusFilter, ChannelFilter, KindFilter)
    search_fields = ("=person__username", "=dedupe_key")
    ordering = ("-at", "-id")
    actions = ("try_again",)
    raw_id_fields = ("person",)
    exclude = ("results",)
    readonly_fields = ("tries",)

    @admin.display(description="last try")
    def last_try(self, row: Delivery) -> str:
        return str(row.results[-1]["detail"])[:120] if row.results else ""

    @admin.display(description="Tries")
    def tries(self, row: Delivery) -> SafeString:
        """Each try with its time and what came of it, oldest first."""
        lines = ((r["at"], "confirmed" if r["is_ok"] else "failed", r["detail"]) for r in row.results)
        return format_html("<ol>{}</ol>", format_html_join("", "<li>{}: {}, {}</li>", lines))

    @admin.action(description="Try again", permissions=["view"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: inbox.try_again(row.pk, by=by))


@admin.register(RemoteHost)
class RemoteHostAdmin(ReadOnly):
    """Hosts that failed lately, and how long they are left alone."""

    list_display = ("name", "n_failures", "shut_until")
    ordering = ("name",)
