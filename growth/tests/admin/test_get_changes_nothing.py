"""A GET of every address of the admin site, as trainer and as operator, leaves every table as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.urls import reverse
from django.utils.timezone import now

from growth.models import GrowthSettings, Revision
from growth.services import proposals, states
from growth.tests.admin.conftest import login
from growth.tests.proposals.desk import propose

# What a visit itself leaves: the session and its times, the record of logins.
LEFT_ALONE = ("django_session", "axes_")


def digests() -> dict[str, tuple[int, str]]:
    """Number and hash of the rows of every table; a person's last login aside."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith(LEFT_ALONE):
                continue
            row = "to_jsonb(t) - 'last_login'" if table == "synth_person" else "to_jsonb(t)"
            cursor.execute(
                f"SELECT count(*), md5(coalesce(string_agg(({row})::text, '|' ORDER BY ({row})::text), '')) "
                f'FROM "{table}" t'
            )
            found[table] = cursor.fetchone()
    return found


def addresses() -> Iterator[str]:
    """Every list, form and row page of every model, and each view of growth's own with each row it takes."""
    yield reverse("admin:index")
    yield reverse("admin:growth_desk")
    for model, model_admin in admin.site._registry.items():
        base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{base}_changelist")
        yield reverse(f"{base}_add")
        pks = list(model._default_manager.order_by("pk").values_list("pk", flat=True)[:3])
        for pk in pks:
            for name in ("change", "delete", "history"):
                yield reverse(f"{base}_{name}", args=[pk])
        for pattern in model_admin.get_urls():
            if pattern.name and not pattern.name.startswith(base.removeprefix("admin:")):
                yield from _own(pattern, pks)


def _own(pattern: Any, pks: list[Any]) -> Iterator[str]:
    keys = list(pattern.pattern.converters)
    for pk in [*pks, *Revision.objects.values_list("pk", flat=True)] if keys else [None]:
        try:
            yield reverse(f"admin:{pattern.name}", kwargs={key: pk for key in keys})
        except Exception:  # noqa: BLE001 - a key of another shape, for example a UUID
            continue


@pytest.fixture
def full(agent, proposal, trainer, operator):
    """A house in use: selves, a rejected proposal, a waiting one, a wish to rewrite it."""
    state = states.manual_edit(agent, content="I am.", by=None, door="command")
    states.manual_clear(agent, by=None, door="command")
    proposals.reject(proposal.pk, by=trainer, door="rest")
    waiting = propose(agent)
    Revision.objects.create(
        proposal=waiting, feedback="Shorter.", asked_by=trainer, door="rest", due_at=now()
    )
    return {"state": state, "trainer": trainer, "operator": operator}


@pytest.mark.parametrize("who", ["trainer", "operator"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_every_address(full, who, method):
    client = login(full[who])
    before = digests()
    assert sum(n for n, _ in before.values()) > 50
    paths = sorted(set(addresses()))
    assert len(paths) > 80
    codes = {path: getattr(client, method)(path).status_code for path in paths}
    assert {path: code for path, code in codes.items() if code >= 500} == {}
    changed = {table for table, digest in digests().items() if digest != before[table]}
    assert not changed
    assert sum(code == 200 for code in codes.values()) > 25


def test_odd_questions_change_nothing_either(full):
    client = login(full["operator"])
    before = digests()
    state, row = full["state"], GrowthSettings.objects.order_by("pk")[0]
    for path in (
        f"/admin/growth/growthstate/{state.pk}/change/?with=x", "/admin/growth/proposal/desk/?after=x",
        f"/admin/growth/growthstate/{state.pk}/change/?with=99999999999999999999999",
        "/admin/growth/proposal/desk/?after=99999999999999999999",
        f"/admin/growth/growthsettings/{row.pk}/selves/?a=x&b=-1",
        "/admin/growth/proposal/99999999999999999999999/change/", "/admin/growth/proposal/x/change/",
        "/admin/growth/proposal/?status=nonsense", "/admin/growth/proposal/?agent=x&_facets=True",
        "/admin/growth/growthrun/?p=99999", f"/admin/growth/proposal/desk/?after={10**18}",
    ):  # fmt: skip
        assert client.get(path).status_code < 500, path
    assert digests() == before
