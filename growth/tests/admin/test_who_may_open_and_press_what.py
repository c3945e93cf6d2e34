"""Every admin page and button of growth × operator, trainer, other trainer, person, anonymous."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from growth.models import GrowthRun, GrowthSettings, GrowthState, Proposal, Revision
from growth.services import states
from growth.tests.admin.conftest import door, login, page, row_of
from growth.tests.proposals.desk import again
from synth.services import agents, people

LISTS = ("growthsettings", "growthrun", "growthstate", "proposal")
WHO = ("operator", "trainer", "stranger", "pia", "anonymous")
HIDDEN = {"operator": 200, "trainer": 200, "stranger": 404, "pia": 302, "anonymous": 302}
# Pages Django itself would answer: a missing row leads to the index.
ROWS = {**HIDDEN, "stranger": 302}


@pytest.fixture
def world(agent, proposal, trainer, stranger, operator) -> dict[str, Any]:
    """Rows of every kind, and a browser of every kind of visitor."""
    state = states.manual_edit(agent, content="I am.", by=None, door="command")
    states.manual_edit(agent, content="I am else.", by=None, door="command")
    Proposal.objects.filter(pk=proposal.pk).update(**_base(agent))
    revision = Revision.objects.create(
        proposal=proposal, feedback="Shorter.", asked_by=trainer, door="rest", due_at=now()
    )
    persons = {"operator": operator, "trainer": trainer, "stranger": stranger, "pia": people.ensure("pia")}
    return {
        "state": state, "run": GrowthRun.objects.get(), "row": row_of(agent), "revision": revision,
        "proposal": again(proposal), "anonymous": Client(),
        **{name: login(person) for name, person in persons.items()},
    }  # fmt: skip


def _base(agent: Any) -> dict[str, Any]:
    """So that an approval is not stale."""
    current = GrowthState.objects.get(agent=agent, is_current=True)
    return {
        "base_state": current,
        "base_hash": states.content_hash(current.content, agent.likes, agent.dislikes),
    }


def pages_of(world: dict[str, Any]) -> dict[str, tuple[str, dict[str, int]]]:
    """Address → what each visitor is answered."""
    found: dict[str, tuple[str, dict[str, int]]] = {
        f"list of {noun}": (reverse(f"admin:growth_{noun}_changelist"), {**HIDDEN, "stranger": 200})
        for noun in LISTS
    }
    found["desk"] = (reverse("admin:growth_desk"), {**HIDDEN, "stranger": 200})
    found["index"] = (reverse("admin:index"), {**HIDDEN, "stranger": 200})
    rows = {"growthsettings": "row", "growthrun": "run", "growthstate": "state", "proposal": "proposal"}
    for noun, key in rows.items():
        found[f"a {noun}"] = (page(noun, world[key]), ROWS)
        history = reverse(f"admin:growth_{noun}_history", args=[world[key].pk])
        found[f"record of a {noun}"] = (history, ROWS)
    for name, key in (
        ("history", "row"), ("restore_confirm", "state"), ("run_progress", "run"), ("revision", "revision"),
        ("revision_progress", "revision"),
    ):  # fmt: skip
        found[name] = (door(name, world[key]), HIDDEN)
    return found


def test_every_page_answers_each_visitor_as_it_should(world):
    wrong = []
    for name, (path, expected) in pages_of(world).items():
        for who in WHO:
            got = world[who].get(path).status_code
            if got != expected[who]:
                wrong.append(f"{name} for {who}: {got}, not {expected[who]}")
    assert not wrong, "\n".join(wrong)


def test_a_hidden_row_is_not_told_from_a_missing_one(world):
    for noun, key in (("growthrun", "run"), ("proposal", "proposal"), ("growthstate", "state")):
        hidden = world["stranger"].get(page(noun, world[key]))
        missing = world["stranger"].get(reverse(f"admin:growth_{noun}_change", args=[999_999]))
        assert (hidden.status_code, hidden["Location"]) == (missing.status_code, missing["Location"])


def buttons(world: dict[str, Any]) -> dict[str, tuple[str, dict[str, str]]]:
    hashed = {"hash": world["proposal"].content_hash, "feedback": "Shorter."}
    return {
        "approve": (door("approve", world["proposal"]), hashed),
        "reject": (door("reject", world["proposal"]), hashed),
        "revise": (door("revise", world["proposal"]), hashed),
        "restore": (door("restore", world["state"]), {}),
        "reflect": (door("reflect", world["row"]), {}),
        "by hand": (door("by_hand", world["row"]), {"content": "I am new."}),
        "settings": (page("growthsettings", world["row"]), {"mode": "off"}),
    }


def counts() -> list[Any]:
    return [
        list(model.objects.order_by("pk").values()) for model in (GrowthRun, GrowthState, Proposal, Revision)
    ] + [list(GrowthSettings.objects.order_by("pk").values("mode"))]


@pytest.mark.parametrize("who", ["stranger", "pia", "anonymous"])
def test_no_button_does_anything_for_others(world, who):
    before = counts()
    for name, (path, form) in buttons(world).items():
        answer = world[who].post(path, form)
        expected = (404,) if who == "stranger" and name != "settings" else (302, 403)
        assert answer.status_code in expected, (name, answer.status_code)
        if who in ("pia", "anonymous"):
            assert "/admin/login/" in answer["Location"], name
    assert counts() == before


def test_a_button_pressed_by_another_trainer_is_on_record(world):
    pressed = {name: path for name, (path, _) in buttons(world).items() if name != "settings"}
    for path in pressed.values():
        world["stranger"].get(path)
        world["stranger"].post(path, {"hash": world["proposal"].content_hash})
    rows = apps.get_model("synth", "AuditEntry").objects.filter(actor_label="tess", outcome="refused")
    assert sorted(rows.values_list("object", flat=True)) == sorted(pressed.values())
    assert set(rows.values_list("door", "reason")) == {("admin", "not_allowed")}


@pytest.mark.parametrize("who", ["operator", "trainer"])
@pytest.mark.parametrize("name", ["approve", "reject", "restore", "reflect", "by hand"])
def test_each_button_works_for_those_who_steer_the_agent(world, who, name):
    path, form = buttons(world)[name]
    before = counts()
    assert world[who].post(path, form).status_code == 302
    assert counts() != before


@pytest.mark.parametrize("name", ["approve", "reject", "revise", "restore", "reflect", "by hand"])
def test_a_post_without_a_csrf_token_is_refused(world, trainer, name):
    path, form = buttons(world)[name]
    before = counts()
    assert login(trainer, enforce_csrf_checks=True).post(path, form).status_code == 403
    assert counts() == before


@pytest.mark.parametrize("name", ["approve", "reject", "revise", "restore", "reflect", "by hand"])
def test_get_on_a_button_is_not_allowed(world, name):
    assert world["operator"].get(buttons(world)[name][0]).status_code == 405


@pytest.mark.parametrize("noun", ["growthrun", "growthstate", "proposal"])
def test_records_cannot_be_added_edited_or_deleted_by_hand(world, noun):
    key = {"growthrun": "run", "growthstate": "state", "proposal": "proposal"}[noun]
    before = counts()
    base = f"/admin/growth/{noun}/"
    for who in ("operator", "trainer"):
        client = world[who]
        assert client.get(f"{base}add/").status_code == 403
        assert client.post(f"{base}{world[key].pk}/change/", {"status": "approved"}).status_code == 403
        assert client.post(f"{base}{world[key].pk}/delete/", {"post": "yes"}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [world[key].pk], "post": "yes"}
        client.post(base, chosen)
    assert counts() == before


def test_who_stopped_training_decides_nothing(world, agent, trainer, make_agent):
    agents.update(make_agent("crow"), {"trainers": [trainer]}, by=None, door="command")
    agents.update(agent, {"trainers": []}, by=None, door="command")
    path, form = buttons(world)["approve"]
    assert world["trainer"].post(path, form).status_code == 404
    assert again(world["proposal"]).status == "pending"


def test_every_page_is_in_the_matrix(world):
    """A new view of growth's admin must be added to one of the tables above."""
    from django.contrib import admin

    known = {path for path, _ in pages_of(world).values()} | {path for path, _ in buttons(world).values()}
    for model in apps.get_app_config("growth").get_models():
        if not admin.site.is_registered(model):
            continue
        for pattern in admin.site.get_model_admin(model).get_urls():
            name = pattern.name or ""
            if not name or name.split("_")[-1] in ("add", "delete", "autocomplete"):
                continue
            keys = {key: _pk(world, name) for key in pattern.pattern.converters}
            assert reverse(f"admin:{name}", kwargs=keys) in known, name


def _pk(world: dict[str, Any], name: str) -> int:
    for part, key in (
        ("growthsettings", "row"), ("growthrun", "run"), ("growthstate", "state"), ("proposal", "proposal"),
        ("restore", "state"), ("run", "run"), ("revision", "revision"), ("revise", "proposal"),
        ("approve", "proposal"), ("reject", "proposal"),
    ):  # fmt: skip
        if part in name:
            return int(world[key].pk)
    return int(world["row"].pk)
