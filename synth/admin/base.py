"""What the core's admin pages share: who sees which rows, lists without COUNT, refusals as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator
from unfold.widgets import UnfoldAdminTextareaWidget

from synth import selectors
from synth.errors import DomainError
from synth.models import Agent, Person
from synth.schemas import Caller

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
    RowForm = forms.ModelForm[Any]
else:
    Base, RowForm = ModelAdmin, forms.ModelForm
MAX_FILTER_AGENTS = 100
MAX_ID_DIGITS = 18
READS = ("GET", "HEAD", "OPTIONS")


def steward(request: HttpRequest) -> Caller:
    """Who is logged in; a superuser counts as an operator."""
    person = request.user
    if not isinstance(person, Person) or not person.is_active or not person.is_staff:
        raise PermissionDenied
    is_operator = person.is_operator or person.is_superuser
    return Caller(person=person, key=None, is_operator=is_operator, may_train=True)


class CoreAdmin(Base):
    """Rows an operator may work on; trainers see those of their agents where `agent_path` leads to the agent.

    `trainers_may` names what trainers may do besides looking: `add`, `change`. With `page_template`, a row's
    address shows a page of ours instead of Django's form, and takes no posts.
    """

    agent_path = ""
    trainers_may: tuple[str, ...] = ()
    is_read_only = False
    page_template = ""
    list_per_page = 50
    show_full_result_count = False
    paginator = InfinitePaginator

    def _may(self, request: HttpRequest, what: str) -> bool:
        try:
            caller = steward(request)
        except PermissionDenied:
            return False
        if what != "view" and self.is_read_only:
            return False
        if caller.is_operator:
            return True
        is_theirs = bool(self.agent_path) and (what == "view" or what in self.trainers_may)
        return is_theirs and selectors.agents_trained(caller).exists()

    def _may_row(self, request: HttpRequest, what: str, row: Any) -> bool:
        if not self._may(request, what):
            return False
        return row is None or row.pk is None or self.get_queryset(request).filter(pk=row.pk).exists()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "view")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_row(request, "view", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_row(request, "change", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        caller = steward(request)
        if caller.is_operator:
            return rows
        if not self.agent_path:
            return rows.none()
        return rows.filter(**{f"{self.agent_path}__in": selectors.agents_trained(caller).values("pk")})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Agent:
            kwargs["queryset"] = selectors.agents_trained(steward(request)).filter(archived_at=None)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing: the service called by `save_model` has saved everything."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if any("\x00" in value for values in request.GET.lists() for value in values[1]):
            # No column can hold it; the list is shown as after any filter that cannot be.
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
        return super().changelist_view(request, extra_context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if self.page_template and (row := self.shown(request, object_id)) is not None:
            if request.method not in READS:
                raise PermissionDenied
            context = self.page_context(request, row)
            return self.render(request, self.page_template, str(row), original=row, **context)
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except DomainError as error:
            messages.error(request, error.message)
            return HttpResponseRedirect(request.get_full_path())

    def shown(self, request: HttpRequest, object_id: str | None) -> Any:
        """The row of a page's address. None: Django answers as for any missing row; or raises for itself."""
        raise NotImplementedError

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What `page_template` shows of a row."""
        raise NotImplementedError

    def render(
        self, request: HttpRequest, template: str, title: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        """A page of ours inside the admin site."""
        request.current_app = self.admin_site.name
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, {**frame, **context}, status=status)

    def each(self, request: HttpRequest, rows: Iterable[Model], change: Callable[[Any], object]) -> None:
        """Call a service for each chosen row and say what came of it."""
        n_done = 0
        for row in rows:
            try:
                change(row)
                n_done += 1
            except DomainError as error:
                messages.error(request, f"{row}: {error.message}")
        if n_done:
            messages.success(request, f"Done: {n_done}.")


class ReadOnly(CoreAdmin):
    """Rows nobody edits by hand."""

    is_read_only = True


class AgentFilter(admin.SimpleListFilter):
    """The agents a person may see, the first hundred of them."""

    title = "agent"
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = selectors.agents_trained(steward(request)).values_list("pk", "slug")
        return [(str(pk), slug) for pk, slug in rows[:MAX_FILTER_AGENTS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value() or ""
        is_id = value.isascii() and value.isdigit() and len(value) <= MAX_ID_DIGITS
        return queryset.filter(agent_id=int(value)) if is_id else queryset


class ValueFilter(admin.SimpleListFilter):
    """Known values of a column; asking the table for them would read all of it."""

    values: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{str(self.parameter_name): value}) if value else queryset


class Lines(forms.CharField):
    """A list of texts, one a line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            required=False,
            widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
            help_text="One a line.",
            **kwargs,
        )

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (super().to_python(value) or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != list(initial or []))


class CheckedForm(RowForm):
    """A form whose fields are checked by the service's own rules, so that a refusal stands at its field."""

    checks: dict[str, Callable[[object, str], Any]] = {}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        for name in [name for name in values if name in self.checks]:
            try:
                self.checks[name](values[name], name)
            except DomainError as error:
                self.add_error(name, error.message)
        return values
