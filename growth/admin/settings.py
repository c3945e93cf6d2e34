"""An agent's growth page in the admin site: who it is becoming, "Reflect now", its settings, its history.

Trainers see and steer their own agents, operators all. GET never changes anything; buttons are POST forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe
from unfold.widgets import UnfoldAdminSelectWidget

from growth import selectors
from growth.admin.base import DOOR, StewardAdmin, in_viewers_zone, me, typed
from growth.models import GrowthSettings, GrowthState
from growth.options import DAY_NAMES, FIELDS, WEEKLY_DAY
from growth.services import conflict_page, effective, history_page, page, runs, settings, states
from synth.admin.base import RowForm
from synth.errors import Conflict, DomainError
from synth.options import BadOption


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
    empty_hint = "There is no agent yet. An operator makes one under Agents."
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
        settings.change(obj.agent, changed, by=me(request), door=DOOR)

    @in_viewers_zone
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
            path("<int:pk>/selves/", view(self.selves_view), name="growth_history"),
            *super().get_urls(),
        ]

    @method_decorator(require_POST)
    def reflect_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Queue a cycle and show its page; while one is open, show that one."""
        row: GrowthSettings = self.found(request, pk)
        try:
            run = runs.request(
                row.agent,
                by=me(request),
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
    @in_viewers_zone
    def by_hand_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Save a self a person wrote, or clear it; a conflict page when another self came in between."""
        row: GrowthSettings = self.found(request, pk)
        current = selectors.current(row.agent_id)
        seen = request.POST.get("base", "")
        if seen and seen != str(current.pk if current else 0):
            return self._moved(request, row, seen)
        try:
            _write(request, row)
            self.message_user(request, "Saved. The next prompt carries it.", messages.SUCCESS)
        except DomainError as error:
            context = page.settings_page(row)
            context["growth"].update(typed=_typed(request), error=error.message)
            return self.render(request, "growth/by_hand_page.html", "Write by hand", 400, **context)
        return _back(pk)

    def _moved(self, request: HttpRequest, row: GrowthSettings, seen: str) -> HttpResponse:
        """Mine, theirs and what was shown, when the current self is another one by now."""
        base = self._state(row, seen)
        context = conflict_page.by_hand(row, _typed(request), base)
        return self.render(request, "growth/conflict_page.html", "Somebody was faster", 409, **context)

    @method_decorator(require_safe)
    @in_viewers_zone
    def selves_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Every kept self of an agent; any two compared."""
        row: GrowthSettings = self.found(request, pk)
        chosen = (self._state(row, request.GET.get("a", "")), self._state(row, request.GET.get("b", "")))
        context = history_page.history(row, *chosen)
        return self.render(request, "growth/history_page.html", f"Selves of {row.agent.name}", **context)

    def _state(self, row: GrowthSettings, pk: str) -> GrowthState | None:
        is_key = pk.isascii() and pk.isdigit() and len(pk) < 19
        return GrowthState.objects.filter(agent_id=row.agent_id, pk=pk).first() if is_key else None


def _typed(request: HttpRequest) -> dict[str, Any]:
    return {
        "content": typed(request, "content"),
        "likes": typed(request, "likes").splitlines(),
        "dislikes": typed(request, "dislikes").splitlines(),
    }


def _write(request: HttpRequest, row: GrowthSettings) -> None:
    person = me(request)
    if "clear" in request.POST:
        states.manual_clear(row.agent, by=person, door=DOOR)
    else:
        states.manual_edit(row.agent, by=person, door=DOOR, **_typed(request))


def _to_run(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:growth_growthrun_change", args=[pk]))


def _back(pk: int) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("admin:growth_growthsettings_change", args=[pk]))
