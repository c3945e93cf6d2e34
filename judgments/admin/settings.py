"""Settings of judgments: mode, host, model, option orders; from here to the report."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminSelectWidget

from judgments import registry
from judgments.models import JudgmentSetting
from judgments.services import settings
from synth.admin.base import CoreAdmin, steward

DOOR = "admin"


@admin.register(JudgmentSetting)
class JudgmentSettingAdmin(CoreAdmin):
    """One row a judgment; a judgment nobody switched on is off."""

    list_display = ("name", "mode", "host", "model", "n_orders", "updated_at", "report")
    list_filter = ("mode",)
    fields = ("name", "mode", "host", "model", "n_orders")
    ordering = ("name",)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """None for a key no database takes, as for one that isn't there."""
        return None if "\x00" in object_id else super().get_object(request, object_id, from_field)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("name",) if obj else ()

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """A new row is for a declared judgment that has none."""
        if db_field.name != "name":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        taken = set(JudgmentSetting.objects.values_list("name", flat=True))
        names = [one.name for one in registry.all_declared() if one.name not in taken]
        return forms.ChoiceField(
            choices=[(name, name) for name in names], widget=UnfoldAdminSelectWidget, label="Judgment"
        )

    @admin.display(description="")
    def report(self, row: JudgmentSetting) -> str:
        """A link to the report."""
        url = reverse("admin:judgments_report")
        return format_html('<a href="{}?judgment={}">Report</a>', url, row.name)

    def save_model(self, request: HttpRequest, obj: JudgmentSetting, form: Any, change: bool) -> None:
        """Through the service; what it refuses is said on the page."""
        changes = {name: form.cleaned_data[name] for name in form.changed_data if name != "name"}
        settings.change(obj.name, changes, by=steward(request).person, door=DOOR)
