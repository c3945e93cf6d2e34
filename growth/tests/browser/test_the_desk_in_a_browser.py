"""The trainer's desk in a real browser: decided by keyboard, raced by two, followed live, at two widths."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.urls import reverse

from growth.models import GrowthState, Proposal, Revision
from growth.services import cycle, proposals, states
from growth.tests.admin.conftest import door, page, row_of
from growth.tests.cycles import reply, run_now
from growth.tests.proposals.desk import CONCRETE, again, ask_first, propose, rewrite_with
from synth.services import agents, people
from synth.testing.accessible import problems
from synth.testing.scripted_host import ScriptedHost

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
LOOK = (Path(__file__).parent / "look.js").read_text()
FINE = {"wider": 0, "nameless": [], "faint": [], "handlers": 0}


def test_two_browsers_approve_and_one_sees_the_conflict_page(proposal, agent, trainer, open_as):
    second = people.ensure("tilda")
    agents.update(agent, {"trainers": [trainer, second]}, by=None, door="command")
    second.refresh_from_db()
    windows = {person.username: open_as(person) for person in (trainer, second)}
    for name, window in windows.items():
        window.goto(page("proposal", proposal))
        window.click("text=Edit and approve")
        window.fill("#edit-content", f"I am the self {name} typed.")
    for window in windows.values():
        window.evaluate("() => document.querySelector('#edit-content').form.requestSubmit()")
    for window in windows.values():
        window.wait_for_selector("text=/Approved\\. Wren|Already approved by/")
    winner = again(proposal).decided_by
    loser = next(name for name in windows if name != winner)
    assert GrowthState.objects.get().content == f"I am the self {winner} typed."
    lost = windows[loser]
    assert f"Already approved by {winner} on" in lost.inner_text("[role=alert]")
    assert lost.input_value("#kept-content") == f"I am the self {loser} typed."
    assert f"I am the self {winner} typed." in lost.inner_text(".growth-three")


def test_a_proposal_is_decided_by_keyboard_alone(proposal, trainer, open_as):
    window = open_as(trainer, width=390)
    window.goto(reverse("admin:growth_desk"))
    window.focus("text=Look and decide")
    window.keyboard.press("Enter")
    window.wait_for_url(f"**{page('proposal', proposal)}")
    window.focus("summary:has-text('Reject')")
    window.keyboard.press("Enter")
    window.keyboard.press("Tab")
    window.keyboard.type("It is not you.")
    window.keyboard.press("Tab")
    window.keyboard.press("Enter")
    window.wait_for_url(f"**{reverse('admin:growth_desk')}")
    assert again(proposal).feedback == "It is not you." and again(proposal).status == "rejected"


def test_sentences_are_ticked_and_changed(proposal, trainer, open_as):
    window = open_as(trainer)
    window.goto(page("proposal", proposal))
    window.click("text=Approve sentence by sentence")
    window.uncheck("#keep-0")
    window.fill("textarea[name=sentence-1]", "Ana laughed.")
    window.click("text=Approve the ticked sentences")
    window.wait_for_selector("text=Approved.")
    assert GrowthState.objects.get().content == "Ana laughed."


def test_a_reflection_and_a_rewrite_are_followed_live(agent, trainer, live_week, open_as):
    live_week(agent)
    ask_first(agent)
    window = open_as(trainer)
    window.goto(page("growthsettings", row_of(agent)))
    window.click("text=Reflect now")
    window.wait_for_selector("text=is about to reflect")
    with ScriptedHost([reply()]) as host, host.installed():
        cycle.run_waiting()
    window.wait_for_selector("text=asks a trainer")
    waiting = Proposal.objects.get()
    with ScriptedHost([]) as host, host.installed():
        window.goto(page("proposal", waiting))
        window.click("text=Revise with feedback")
        window.fill("#revise-feedback", "More concrete.")
        window.click("text=Have it rewritten")
        window.wait_for_selector("text=rewrites proposal")
    rewrite_with(reply(CONCRETE))
    window.wait_for_selector("text=was rewritten")
    window.click("text=Look at proposal")
    window.click("text=Approve as shown")
    window.wait_for_selector("text=Approved.")
    assert GrowthState.objects.get(is_current=True).content == CONCRETE


def test_going_back_asks_first(agent, trainer, open_as):
    first = states.manual_edit(agent, content="I mend teapots.", by=None, door="command")
    states.manual_edit(agent, content="I sail.", by=None, door="command")
    window = open_as(trainer)
    window.goto(page("growthstate", first))
    window.click("text=Restore this self")
    assert "Nothing is deleted" in window.inner_text(".growth")
    window.click("text=Make it the current self")
    window.wait_for_selector("text=Restored as a new current self")
    assert GrowthState.objects.get(is_current=True).content == "I mend teapots."


@pytest.fixture
def house(agent, trainer, live_week) -> dict[str, str]:
    """An agent with a past, and the address of each page."""
    entries = live_week(agent)
    run_now(agent, reply())
    evidence = [{"sentence": 0, "quote": "we glued the handle together", "diary_ids": [entries[0].pk]}]
    old = propose(agent, CONCRETE, likes=["rain", "plum cake"], evidence=evidence)
    proposals.reject(old.pk, by=trainer, door="rest", feedback="Too proud.")
    waiting = propose(agent, CONCRETE, likes=["rain", "plum cake", "lighthouses"], evidence=evidence)
    with ScriptedHost([]) as host, host.installed():
        proposals.revise(waiting.pk, by=trainer, door="rest", feedback="More about Ana, less about glue.")
    state = GrowthState.objects.get()
    row = row_of(agent)
    return {
        "index": reverse("admin:index"),
        "desk": reverse("admin:growth_desk"),
        "proposal": page("proposal", waiting),
        "rejected": page("proposal", old),
        "revision": door("revision", Revision.objects.get()),
        "settings": page("growthsettings", row),
        "run": page("growthrun", waiting.run),
        "state": page("growthstate", state),
        "restore": door("restore_confirm", state),
        "history": door("history", row),
        "proposals": reverse("admin:growth_proposal_changelist"),
        "runs": reverse("admin:growth_growthrun_changelist"),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_pages_fit_are_labelled_and_load_nothing_from_elsewhere(
    house, trainer, open_as, width, scheme, live_server, tmp_path
):
    """SYNTH_SHOTS names a folder that keeps the pictures."""
    folder = Path(os.environ.get("SYNTH_SHOTS") or tmp_path)
    window = open_as(trainer, width=width, color_scheme=scheme)
    seen: list[str] = []
    trouble: list[str] = []
    window.on("request", lambda request: seen.append(request.url))
    window.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: trouble.append(str(error)))
    agent = Proposal.objects.latest("pk").agent
    for name, path in house.items():
        window.goto(path)
        window.evaluate("() => document.querySelectorAll('.growth details').forEach(d => { d.open = true })")
        window.screenshot(path=str(folder / f"{name}-{width}-{scheme}.png"), full_page=True)
        assert window.evaluate(LOOK) == FINE, name
        if window.locator(".growth").count():
            assert problems(window, ".growth") == [], name
    states.manual_edit(agent, content="Somebody else wrote this.", by=None, door="command")
    window.goto(house["proposal"])
    window.click("text=Edit and approve")
    window.fill("#edit-content", "I typed this for an hour.")
    window.click("text=Approve my version")
    window.wait_for_selector(".growth-three")
    window.screenshot(path=str(folder / f"conflict-{width}-{scheme}.png"), full_page=True)
    assert window.evaluate(LOOK) == FINE
    assert {urlsplit(url).netloc for url in seen if not url.startswith("data:")} == {
        urlsplit(live_server.url).netloc
    }
    assert [line for line in trouble if "409" not in line] == []
