"""Agents in the admin site: operators make and archive them, trainers edit their own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from synth.admin.base import CheckedForm, CoreAdmin, Lines, steward
from synth.models import Agent, Door
from synth.services import agents, memory_vectors

OPERATOR_FIELDS = ("slug", "trainers", "people", "local_only", "daily_token_cap")
FIXED = ("founding_persona", "created_at", "updated_at", "archived_at")


class AgentForm(CheckedForm):
    """An agent, by the rules of the REST API."""

    checks = agents.CHECKS
    likes = Lines()
    dislikes = Lines()

    class Meta:
        model = Agent
        fields = (*OPERATOR_FIELDS, "name", "persona", "timezone", "language", "interface_path",
                  "model_overrides", "likes", "dislikes")  # fmt: skip

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        slug = values.get("slug")
        if slug and Agent.objects.filter(slug__iexact=slug).exclude(pk=self.instance.pk).exists():
            self.add_error("slug", "An agent of that slug exists.")
        return values


@admin.register(Agent)
class AgentAdmin(CoreAdmin):
    """The agents; every save goes through the service, which audits it and tells the other apps."""

    form = AgentForm
    agent_path = "pk"
    trainers_may = ("change",)
    list_display = ("slug", "name", "language", "timezone", "local_only", "archived_at")
    search_fields = ("slug", "name")
    ordering = ("slug",)
    autocomplete_fields = ("trainers", "people")
    actions = ("archive", "unarchive")
    fieldsets = (
        (None, {"fields": ("slug", "name", "persona", "likes", "dislikes")}),
        ("Place", {"fields": ("timezone", "language", "interface_path")}),
        ("People", {"fields": ("trainers", "people")}),
        ("Models", {"fields": ("model_overrides", "local_only", "daily_token_cap")}),
        ("Record", {"fields": (*FIXED, "memories_read")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        fixed = (*FIXED, "memories_read")
        return fixed if steward(request).is_operator else (*fixed, *OPERATOR_FIELDS)

    @admin.display(description="memories recalled by meaning")
    def memories_read(self, obj: Agent) -> str:
        """How many memories have a vector, and of which model."""
        found = memory_vectors.counts(obj)
        n_all, by_model = sum(found.values()), {name: n for name, n in found.items() if name}
        models = ", ".join(f"{n} by {name}" for name, n in by_model.items())
        return f"{sum(by_model.values())} of {n_all}" + (f" ({models})" if models else "")

    def get_actions(self, request: HttpRequest) -> Any:
        return super().get_actions(request) if steward(request).is_operator else {}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.archived_at is None)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        by = steward(request).person
        if change:
            values = {name: form.cleaned_data[name] for name in form.changed_data if name in agents.CHECKS}
            agents.update(obj, values, by=by, door=Door.ADMIN)
            return
        values = {name: value for name, value in form.cleaned_data.items() if name in agents.CHECKS}
        made = agents.create(**values, by=by, door=Door.ADMIN)
        obj.pk, obj._state.adding = made.pk, False

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: agents.archive(row, by=by, door=Door.ADMIN))

    @admin.action(description="Take out of the archive", permissions=["change"])
    def unarchive(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: agents.unarchive(row, by=by, door=Door.ADMIN))
