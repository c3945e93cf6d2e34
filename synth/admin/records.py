"""What happened, read-only: events and their handlers, language model calls, changes, ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import TabularInline

from synth.admin.base import AgentFilter, ReadOnly, ValueFilter, steward
from synth.models import AuditEntry, EventHandling, HandlingStatus, LlmCall, LlmCallPart, OutboxEvent, Tick
from synth.services import outbox

if TYPE_CHECKING:
    Inline = admin.TabularInline[Any, Any]
else:
    Inline = TabularInline
# Chats are private to their persons; a trainer reads what their agent's growth asked and answered.
TRAINERS_PURPOSES = ("reflection", "review")


class HandlingInline(Inline):
    """What each handler made of an event."""

    model = EventHandling
    fields = ("handler", "status", "n_failures", "due_at", "handled_at", "error")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return steward(request).is_operator


@admin.register(OutboxEvent)
class OutboxEventAdmin(ReadOnly):
    """Facts that were published."""

    list_display = ("id", "at", "name", "payload")
    ordering = ("-at", "-id")
    inlines = (HandlingInline,)


class StatusFilter(admin.SimpleListFilter):
    """Parked handlings unless another status is asked for: they are what an operator must look at."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("waiting", "waiting"), ("handled", "handled"), ("all", "all")]

    def choices(self, changelist: Any) -> Any:
        first, *others = super().choices(changelist)
        return [{**first, "display": "parked"}, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value() or HandlingStatus.PARKED
        return queryset if value == "all" else queryset.filter(status=value)


@admin.register(EventHandling)
class EventHandlingAdmin(ReadOnly):
    """Events at their handlers, the parked ones first; a retry hands a parked one out again."""

    list_display = ("id", "event", "handler", "status", "n_failures", "due_at", "error_start")
    list_select_related = ("event",)
    list_filter = (StatusFilter,)
    ordering = ("-id",)
    actions = ("retry",)

    @admin.display(description="error")
    def error_start(self, row: EventHandling) -> str:
        return row.error[-120:]

    @admin.action(description="Retry", permissions=["view"])
    def retry(self, request: HttpRequest, queryset: QuerySet[EventHandling]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: outbox.retry_parked(row.pk, by=by))


class PurposeFilter(ValueFilter):
    """What a call was for."""

    title = "purpose"
    parameter_name = "purpose"
    values = ("chat", "reflection", "proactive", "review", "sitting")


class OutcomeFilter(ValueFilter):
    """Done or refused."""

    title = "outcome"
    parameter_name = "outcome"
    values = ("done", "refused")


@admin.register(LlmCall)
class LlmCallAdmin(ReadOnly):
    """Every call to a language model with the exact text that was sent and what came back."""

    agent_path = "agent"
    list_display = (
        "at",
        "agent",
        "purpose",
        "model",
        "outcome",
        "n_prompt_tokens",
        "n_completion_tokens",
        "ms",
    )
    list_select_related = ("agent",)
    list_filter = (AgentFilter, PurposeFilter)
    search_fields = ("=session",)
    ordering = ("-at", "-id")
    readonly_fields = ("sent",)
    exclude = ("parts",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LlmCall]:
        rows = super().get_queryset(request)
        if steward(request).is_operator:
            return rows
        return rows.filter(purpose__in=TRAINERS_PURPOSES)

    @admin.display(description="What was sent")
    def sent(self, row: LlmCall) -> SafeString:
        """The parts in order, each under its role and layer."""
        parts = LlmCallPart.objects.filter(call=row).select_related("part").order_by("position")
        shown = ((part.role, part.layer, part.part.text) for part in parts)
        pieces = format_html_join("", "<h4>{} {}</h4><pre>{}</pre>", shown)
        return format_html("<div>{}</div>", pieces)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    """Who changed what, and who was refused."""

    list_display = ("at", "actor_label", "door", "action", "object", "outcome", "reason")
    list_filter = ("door", OutcomeFilter)
    search_fields = ("=object",)
    ordering = ("-at", "-id")
    raw_id_fields = ("actor", "agent")


@admin.register(Tick)
class TickAdmin(ReadOnly):
    """When each background tick last ran."""

    list_display = ("name", "started_at", "finished_at", "error")
    ordering = ("name",)
