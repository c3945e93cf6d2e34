"""Growth in the admin site: the settings page with its “Reflect now” button, every cycle, every self.

Trainers see and steer their own agents, operators all. GET never changes anything; buttons are POST forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget

from growth import selectors
from growth.models import OPEN_STATUSES, GrowthRun, GrowthSettings, GrowthState
from growth.options import DAY_NAMES, FIELDS, WEEKLY_DAY
from growth.services import effective, page, runs, settings, states
from synth.admin.base import AgentFilter, CoreAdmin, RowForm, steward
from synth.errors import Conflict, DomainError
from synth.options import BadOption

DOOR = "admin"


class StewardAdmin(CoreAdmin):
    """Rows of agents the person trains; nothing is added or deleted by hand."""

    agent_path = "agent"
    list_select_related = ["agent"]

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def found(self, request: HttpRequest, pk: int) -> Any:
        """The row, if this person may steer its agent; 404 otherwise."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).select_related("agent").filter(pk=pk).first()
        if row is None:
            raise Http404
        return row

    def shown(self, request: HttpRequest, object_id: str | None) -> Any:
        """The row of a page's address, or None; Django then answers as it does for any missing row."""
        if object_id is None or not (object_id.isascii() and object_id.isdigit()):
            return None
        return self.get_queryset(request).select_related("agent").filter(pk=object_id).first()


class SettingsForm(RowForm):
    """The settings row; values are judged by the service every door uses."""

    class Meta:
        model = GrowthSettings
        fields = list(FIELDS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.help_text = FIELDS[name].help
        if "weekly_day" in self.fields:
            # A day that does not fit stays choosable, so that saving another field does not change it unseen.
            days = dict.fromkeys([*DAY_NAMES, self.instance.weekly_day])
            self.fields["weekly_day"] = forms.ChoiceField(
                choices=[(day, day) for day in days],
                widget=UnfoldAdminSelectWidget,
                help_text=WEEKLY_DAY.help,
            )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        for field in [name for name in values if name in FIELDS]:
            try:
                values[field] = settings.parse(field, values[field])
            except BadOption as error:
                self.add_error(field, str(error))
        return values


def _held(field: str) -> Callable[[GrowthSettings], SafeString]:
    """A read-only display of a field that the environment holds."""
    name = FIELDS[field].name

    def show(row: GrowthSettings) -> SafeString:
        held = effective.effective_of(row)
        problem = held.problems.get(field, "")
        return format_html(
            "{} — set by {} in the environment{}",
            getattr(held, field),
            name,
            f" ({problem})" if problem else "",
        )

    show.__name__ = f"{field}_from_environment"
    show.short_description = field.replace("_", " ")  # type: ignore[attr-defined]
    return show


HELD = {field: _held(field) for field in FIELDS}


@admin.register(GrowthSettings)
class GrowthSettingsAdmin(StewardAdmin):
    """An agent's growth page: who it is becoming, when it reflects next, and the button to reflect now."""

    form = SettingsForm
    trainers_may = ("change",)
    list_display = ["agent", "effective_mode", "next_cycle_at", "reflection"]
    search_fields = ["agent__slug", "agent__name"]
    ordering = ["agent__slug"]
    change_form_outer_before_template = "growth/settings_card.html"
    change_form_outer_after_template = "growth/settings_by_hand.html"

    @admin.display(description="mode")
    def effective_mode(self, row: GrowthSettings) -> str:
        """The mode that holds, environment included."""
        held = effective.effective_of(row)
        return f"{held.mode} (environment)" if "mode" in held.overridden_by_env else held.mode

    @admin.display(description="current reflection")
    def reflection(self, row: GrowthSettings) -> str:
        """The beginning of the current self."""
        state = selectors.current(row.agent_id)
        text = state.content if state else ""
        return (text if len(text) <= 80 else f"{text[:80]}…") or "–"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        held = effective.effective_of(obj).overridden_by_env if obj else []
        return [HELD[field] if field in held else field for field in FIELDS]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        held = effective.effective_of(obj).overridden_by_env if obj else []
        return [HELD[field] for field in held]

    def save_model(self, request: HttpRequest, obj: GrowthSettings, form: Any, change: bool) -> None:
        """Through the service: validated, audited, replanned."""
        changed = {field: form.cleaned_data[field] for field in form.changed_data}
        settings.change(obj.agent, changed, by=steward(request).person, door=DOOR)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        row = self.shown(request, object_id)
        extra = {**(extra_context or {}), **(page.settings_page(row) if row else {})}
        return super().changeform_view(request, object_id, form_url, extra)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/reflect/", view(self.reflect_view), name="growth_reflect"),
            path("<int:pk>/by-hand/", view(self.by_hand_view), name="growth_by_hand"),
            *super().get_urls(),
        ]

    @method_decorator(require_POST)
    def reflect_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Queue a cycle and show its page; while one is open, show that one."""
        row: GrowthSettings = self.found(request, pk)
        try:
            run = runs.request(
                row.agent,
                by=steward(request).person,
                door=DOOR,
                force=True,
                dry_run=request.POST.get("dry_run") == "on",
            )
        except Conflict as error:
            self.message_user(request, "A reflection of this agent is already under way.", messages.WARNING)
            open_id = error.details.get("run")
            return _to_run(open_id) if open_id else _back(pk)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return _back(pk)
        return _to_run(run.pk)

    @method_decorator(require_POST)
    def by_hand_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Save a self a person wrote, or clear it."""
        row: GrowthSettings = self.found(request, pk)
        person = steward(request).person
        try:
            if "clear" in request.POST:
                states.manual_clear(row.agent, by=person, door=DOOR)
            else:
                states.manual_edit(
                    row.agent,
                    content=request.POST.get("content", ""),
                    by=person,
                    door=DOOR,
                    likes=request.POST.get("likes", "").splitlines(),
                    dislikes=request.POST.get("dislikes", "").splitlines(),
                )
            self.message_user(request, "Saved. The next prompt carries it.", messages.SUCCESS)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        return _back(pk)


@admin.register(GrowthRun)
class GrowthRunAdmin(StewardAdmin):
    """Every cycle: how far it is, what it wrote, what the guards said, what it rests on."""

    list_display = ["created_at", "agent", "trigger", "status", "reason", "writer", "n_calls"]
    is_read_only = True
    list_filter = ["status", "trigger", AgentFilter]
    change_form_template = "growth/run_page.html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        row = self.shown(request, object_id)
        extra = {**(extra_context or {}), **(page.run_page(row) if row else {})}
        return super().changeform_view(request, object_id, form_url, extra)

    @admin.display(boolean=True)
    def is_open(self, row: GrowthRun) -> bool:
        """Whether it is still queued or running."""
        return row.status in OPEN_STATUSES


@admin.register(GrowthState)
class GrowthStateAdmin(StewardAdmin):
    """Every kept self, compared with any other, with the button to go back to it."""

    list_display = ["created_at", "agent", "source", "is_current", "beginning"]
    is_read_only = True
    list_filter = ["is_current", "source", AgentFilter]
    change_form_template = "growth/state_page.html"

    @admin.display(description="text")
    def beginning(self, row: GrowthState) -> str:
        """The first words."""
        return row.content[:80]

    def get_urls(self) -> list[URLPattern]:
        restore = self.admin_site.admin_view(self.restore_view)
        return [path("<int:pk>/restore/", restore, name="growth_restore"), *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        row = self.shown(request, object_id)
        extra = dict(extra_context or {})
        if row:
            other = self.shown(request, request.GET.get("with"))
            extra.update(page.state_page(row, other if other and other.agent_id == row.agent_id else None))
        return super().changeform_view(request, object_id, form_url, extra)

    @method_decorator(require_POST)
    def restore_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make this self current again, text and lists."""
        row: GrowthState = self.found(request, pk)
        try:
            state = states.restore(row.pk, by=steward(request).person, door=DOOR)
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:growth_growthstate_changelist")
        self.message_user(request, "Restored as a new current self.", messages.SUCCESS)
        return redirect("admin:growth_growthstate_change", state.pk)


def _to_run(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:growth_growthrun_change", args=[pk]))


def _back(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:growth_growthsettings_change", args=[pk]))
