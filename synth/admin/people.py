"""Persons and their keys in the admin site, for operators only."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from synth.admin.base import CheckedForm, CoreAdmin, steward
from synth.models import ApiKey, Door, Person, Role
from synth.services import keys, people

admin.site.unregister(Group)
PROFILE = (
    "first_name", "last_name", "email", "timezone", "language", "country", "quiet_hours", "is_minor",
    "has_proactive_consent", "has_gift_memory_consent", "crisis_until",
)  # fmt: skip


class NewPerson(UserCreationForm):  # type: ignore[misc]
    """Username and password."""

    class Meta:
        model = Person
        fields = ("username",)


class PersonForm(CheckedForm, UserChangeForm):  # type: ignore[misc]
    """The profile, by the rules of the REST API."""

    checks = people.CHECKS

    class Meta:
        model = Person
        fields = "__all__"


@admin.register(Person)
class PersonAdmin(CoreAdmin, UserAdmin):  # type: ignore[type-arg]
    """Profiles; power moves through the actions of the list."""

    form = PersonForm
    add_form = NewPerson
    change_password_form = AdminPasswordChangeForm
    list_display = (
        "username",
        "is_operator",
        "is_staff",
        "timezone",
        "language",
        "last_login",
        "archived_at",
    )
    list_filter = ("is_operator", "is_staff")
    search_fields = ("username",)
    ordering = ("username",)
    filter_horizontal = ()
    readonly_fields = ("is_operator", "is_staff", "is_active", "archived_at", "last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Profile", {"fields": PROFILE}),
        ("Power", {"fields": readonly_fields}),
    )
    add_fieldsets = ((None, {"fields": ("username", "password1", "password2")}),)
    actions = ("make_operator", "remove_operator", "archive", "unarchive")

    def get_readonly_fields(self, request: HttpRequest, obj: Person | None = None) -> Any:
        return (*self.readonly_fields, "username") if obj else self.readonly_fields

    def save_model(self, request: HttpRequest, obj: Person, form: Any, change: bool) -> None:
        by = steward(request).person
        if change:
            values = {name: form.cleaned_data[name] for name in PROFILE if name in form.changed_data}
            people.update(obj, values, by=by, door=Door.ADMIN)
            return
        made = people.ensure(obj.username, by=by, door=Door.ADMIN)
        made.set_password(form.cleaned_data["password1"])
        made.save(update_fields=["password"])
        obj.pk = made.pk
        obj._state.adding = False

    @admin.action(description="Make operator", permissions=["change"])
    def make_operator(self, request: HttpRequest, queryset: QuerySet[Person]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: people.make_operator(row, by=by, door=Door.ADMIN))

    @admin.action(description="Take the operator's rights away", permissions=["change"])
    def remove_operator(self, request: HttpRequest, queryset: QuerySet[Person]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: people.remove_operator(row, by=by, door=Door.ADMIN))

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Person]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: people.archive(row, by=by, door=Door.ADMIN))

    @admin.action(description="Take out of the archive", permissions=["change"])
    def unarchive(self, request: HttpRequest, queryset: QuerySet[Person]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: people.unarchive(row, by=by, door=Door.ADMIN))


class KeyForm(CheckedForm):
    """What a new key is for."""

    role = forms.ChoiceField(choices=Role.choices, widget=UnfoldAdminSelectWidget)
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in keys.SCOPES],
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="App keys only; none: all.",
    )
    name = forms.CharField(max_length=100, required=False, widget=UnfoldAdminTextInputWidget())

    class Meta:
        model = ApiKey
        fields = ("person", "name", "role", "scopes")

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("scopes") and values.get("role") != Role.APP:
            self.add_error("scopes", "Only app keys have scopes.")
        return values


@admin.register(ApiKey)
class ApiKeyAdmin(CoreAdmin):
    """Keys: issued here and shown once, revoked by an action; the hash is never shown."""

    form = KeyForm
    list_display = ("prefix", "person", "name", "role", "created_at", "last_used_at", "revoked_at")
    list_select_related = ("person",)
    list_filter = ("role",)
    search_fields = ("prefix", "person__username")
    autocomplete_fields = ("person",)
    ordering = ("-id",)
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        made = ("prefix", "created_at", "last_used_at", "revoked_at")
        return ("person", "name", "role", "scopes", *(made if obj else ()))

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return self.get_fields(request, obj) if obj else ()

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            return
        data = form.cleaned_data
        issued = keys.issue(
            data["person"], role=data["role"], name=data["name"], scopes=data["scopes"],
            by=steward(request).person, door=Door.ADMIN,
        )  # fmt: skip
        obj.pk, obj.prefix, obj._state.adding = issued.key.pk, issued.key.prefix, False
        request.META["synth.issued_key"] = issued.plain

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The one page the key is ever on; a redirect would have to keep it somewhere."""
        context = {
            **self.admin_site.each_context(request), "title": "The new API key", "opts": self.opts,
            "plain": request.META.pop("synth.issued_key"), "key": obj,
        }  # fmt: skip
        return TemplateResponse(request, "synth/key_issued.html", context)

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        by = steward(request).person
        self.each(request, queryset, lambda row: keys.revoke(row, by=by, door=Door.ADMIN))
