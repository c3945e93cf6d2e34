"""After a person is erased, nothing of them is in what an agent wrote about its weeks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from growth.models import GrowthRun, GrowthSettings, GrowthState, Proposal, Revision
from growth.services import proposals, settings, states
from growth.tests.cycles import current, reply, run_now
from growth.tests.proposals.desk import again, ask_first, deliver, inbox, rewrite_with
from synth.services import agents, diary, erase, memories, people
from synth.testing.whole_database import grep

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "margueritefox"
SECRET = "Marguerite collects porcelain foxes from the flea market of Ghent and hides them in the attic"
WISH = "Please say far more about my zeppelin voyage over Ostend with the twins"
GLUED = "I glued Jay's blue teapot on the balcony."
FOX = "Margueritefox showed me an attic full of porcelain animals."
WAXED = "Later I waxed the stairs until they shone like treacle."
MARKERS = ("marguerite", "porcelain", "ghent", "vandenberghe", "treacle", "zeppelin", "ostend")


@pytest.fixture
def person(agent: Any) -> Any:
    found = people.ensure(NAME)
    people.update(found, {"first_name": "Marguerite", "last_name": "Vandenberghe"}, by=None, door="command")
    found.refresh_from_db()
    agents.update(agent, {"trainers": [found, people.ensure("tomas")]}, by=None, door="command")
    return found


@pytest.fixture
def entry(agent: Any, live_week: Any, person: Any) -> Any:
    live_week(agent)
    memories.write(agent, text=SECRET, about=person)
    content = f"Today {SECRET}. We waxed the stairs."
    at = now() - timedelta(days=2)
    return diary.write(agent, content=content, people=["Marguerite Vandenberghe"], at=at)


def written(entry: Any, *more: str) -> str:
    evidence = [{"sentence": 2, "quote": "We waxed the stairs.", "diary_ids": [entry.pk]}]
    likes = ["rain", f"tea with {NAME}"]
    return reply(" ".join([GLUED, FOX, WAXED, *more]), likes=likes, evidence=evidence)


@pytest.fixture
def world(agent: Any, entry: Any, person: Any) -> Any:
    """A self, a decided and a waiting proposal, a wish to rewrite, deliveries; all of it about her."""
    run, _ = run_now(agent, written(entry))
    assert run.status == "applied", (run.reason, run.detail)
    ask_first(agent)
    settings.change(agent, {"request_interface_path": f"inbox/{NAME}"}, by=None, door="command")
    run_now(agent, written(entry, "I slept well."))
    settings.change(agent, {"request_interface_path": ""}, by=None, door="command")
    first = Proposal.objects.get()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.LLM_BASE_URL", "http://127.0.0.1:1/v1")
        proposals.revise(first.pk, by=person, door="rest", feedback=WISH)
    rewrite_with(written(entry, "It rained all day."))
    second = Proposal.objects.get(status="pending")
    proposals.reject(second.pk, by=person, door="rest", feedback="No zeppelin!")
    run_now(agent, written(entry, "I wrote to Ana."))
    states.manual_edit(agent, likes=["rain", f"soup by {NAME}"], by=person, door="rest")
    settings.change(agent, {"trainer_chat_id": f"inbox/{NAME}"}, by=None, door="command")
    deliver()
    return agent


def test_nothing_of_them_is_left_anywhere(world):
    assert all(grep(marker) for marker in MARKERS)
    receipt = erase.erase_person(NAME, at=now())
    assert {marker: grep(marker) for marker in MARKERS} == {marker: [] for marker in MARKERS}
    assert receipt.leftovers == {}
    counts = receipt.counts["growth.selves"]
    assert {"growth.GrowthState", "growth.GrowthRun", "growth.Proposal", "growth.Revision"} <= set(counts)


def test_what_is_not_about_them_stays(world):
    erase.erase_person(NAME, at=now())
    state = current(world)
    assert state.content == f"{GLUED} [removed]. [removed]." and state.likes == ["rain"]
    assert state.content_hash == states.content_hash(state.content, state.likes, state.dislikes)
    assert [one["quote"] for one in GrowthState.objects.order_by("pk")[0].evidence] == ["[removed]"]
    result: Any = GrowthRun.objects.order_by("pk")[0].result
    assert result["self_growth"] == state.content
    assert state.created_by.startswith("erased person")
    world.refresh_from_db()
    assert world.likes == ["rain"]
    row = GrowthSettings.objects.get(agent=world)
    assert (row.request_interface_path, row.trainer_chat_id) == ("", "")
    revision = Revision.objects.get()
    assert (revision.feedback, revision.asked_by, revision.status) == ("[removed]", None, "done")
    told = inbox(people.ensure("tomas"))
    assert told and all(GLUED in one.body or "[removed]" in one.body for one in told)


def test_a_waiting_proposal_can_still_be_decided(agent, entry, person):
    ask_first(agent)
    run_now(agent, written(entry))
    waiting = Proposal.objects.get(status="pending")
    erase.erase_person(NAME, at=now())
    tomas = people.ensure("tomas")
    shown = again(waiting)
    assert shown.content == f"{GLUED} [removed]. [removed]." and shown.content_hash != waiting.content_hash
    proposals.approve(waiting.pk, by=tomas, door="rest", shown_hash=shown.content_hash)
    assert current(agent).content == shown.content


def test_nothing_changes_where_they_are_not_named(agent, live_week, person):
    live_week(agent)
    run_now(agent, reply())
    before = list(GrowthState.objects.values()), list(GrowthRun.objects.values())
    receipt = erase.erase_person(NAME, at=now())
    assert (list(GrowthState.objects.values()), list(GrowthRun.objects.values())) == before
    assert receipt.counts["growth.selves"] == {}


def test_an_agent_goes_with_its_growth(world):
    receipt = erase.erase_agent("wren", at=now())
    assert receipt.counts["growth.selves"]["reminders.Delivery"] > 0
    assert not GrowthState.objects.exists() and not Proposal.objects.exists()
    assert grep("treacle") == []
