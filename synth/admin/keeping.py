"""Diary and memories in the admin site, for operators and each agent's trainers."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from synth import selectors
from synth.admin.base import AgentFilter, CheckedForm, CoreAdmin, Lines, steward
from synth.models import DiaryEntry, Door, Memory
from synth.services import diary, fields, memories, named_memories


class DiaryForm(CheckedForm):
    """A new entry."""

    checks = {"content": lambda value, name: fields.text(value, name, max_chars=diary.MAX_CONTENT_BYTES)}
    people = Lines()
    tags = Lines()

    class Meta:
        model = DiaryEntry
        fields = ("agent", "at", "content", "source", "people", "tags")
        help_texts = {"at": "When it happened, in UTC."}


@admin.register(DiaryEntry)
class DiaryAdmin(CoreAdmin):
    """Entries are added, never changed."""

    form = DiaryForm
    agent_path = "agent"
    trainers_may = ("add",)
    list_display = ("at", "agent", "source", "start")
    list_select_related = ("agent",)
    list_filter = (AgentFilter, "source")
    autocomplete_fields = ("agent",)
    ordering = ("-id",)
    fields = ("agent", "at", "content", "source", "people", "tags")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"at": timezone.now(), **super().get_changeform_initial_data(request)}

    def get_fields(self, request: HttpRequest, obj: DiaryEntry | None = None) -> Any:
        return (*self.fields[:4], "who", "labels") if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: DiaryEntry | None = None) -> Any:
        return ("who", "labels") if obj else ()

    @admin.display(description="people")
    def who(self, row: DiaryEntry) -> str:
        return ", ".join(row.people) or "–"

    @admin.display(description="tags")
    def labels(self, row: DiaryEntry) -> str:
        return ", ".join(row.tags) or "–"

    @admin.display(description="content")
    def start(self, row: DiaryEntry) -> str:
        return row.content[:80]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: DiaryEntry, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in ("at", "content", "source", "people", "tags")}
        made = diary.write(form.cleaned_data["agent"], **values, by=steward(request).person, door=Door.ADMIN)
        obj.pk, obj._state.adding = made.pk, False


class MemoryForm(CheckedForm):
    """A memory; the person it is about is named by username."""

    tags = Lines()
    about_username = forms.CharField(
        required=False, label="About", widget=UnfoldAdminTextInputWidget(),
        help_text="The username of the one person it concerns; recall never shows it to others.",
    )  # fmt: skip

    class Meta:
        model = Memory
        fields = ("agent", "name", "text", "tags", "kind")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        about = self.instance.about if self.instance.pk else None
        self.fields["about_username"].initial = about.username if about else ""

    def clean_about_username(self) -> Any:
        username = self.cleaned_data["about_username"]
        person = selectors.person_by_username(username) if username else None
        if username and person is None:
            raise forms.ValidationError("There is no such person.")
        return person


class SizeFilter(admin.SimpleListFilter):
    """The memories that are too long, the largest first."""

    title = "size"
    parameter_name = "size"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("big", "big")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        return named_memories.big(queryset) if self.value() == "big" else queryset


@admin.register(Memory)
class MemoryAdmin(CoreAdmin):
    """What an agent keeps; every change goes through the service, which keeps the search in step."""

    form = MemoryForm
    agent_path = "agent"
    trainers_may = ("add", "change", "delete")
    list_display = ("at", "agent", "name", "kind", "start", "n_tokens")
    list_select_related = ("agent",)
    list_filter = (AgentFilter, SizeFilter)
    autocomplete_fields = ("agent",)
    ordering = ("-id",)
    fields = ("agent", "name", "text", "tags", "kind", "about_username", "at", "n_tokens")
    readonly_fields = ("at", "n_tokens")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        return super().get_queryset(request).defer("search")

    def get_readonly_fields(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        return (*self.readonly_fields, "agent") if obj else self.readonly_fields

    def get_fields(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        return self.fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_row(request, "delete", obj)

    @admin.display(description="text")
    def start(self, row: Memory) -> str:
        return row.text[:80]

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        data = form.cleaned_data
        values = {name: data[name] for name in ("text", "tags", "kind", "name")}
        values |= {"about": data["about_username"], "by": steward(request).person, "door": Door.ADMIN}
        saved = memories.update(obj, **values) if change else memories.write(data["agent"], **values)
        obj.pk, obj._state.adding = saved.pk, False

    def delete_model(self, request: HttpRequest, obj: Memory) -> None:
        memories.delete(obj, by=steward(request).person, door=Door.ADMIN)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        for row in queryset:
            self.delete_model(request, row)
