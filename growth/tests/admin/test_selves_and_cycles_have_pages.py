"""Kept selves compared and restored, cycles followed and read, settings that the environment holds."""

from __future__ import annotations

from django.urls import reverse

from growth.models import GrowthRun, GrowthState
from growth.services import runs, states
from growth.tests.admin.conftest import door, login, page, row_of
from growth.tests.cycles import ABSTRACT, NOTE, reply, run_now
from synth.testing.scripted_host import ScriptedHost


def written(agent, *texts: str) -> list[GrowthState]:
    return [states.manual_edit(agent, content=text, by=None, door="command") for text in texts]


def test_any_two_selves_are_compared(agent, trainer):
    first, _, last = written(agent, "I mend pots.", "I sail.", "I mend boats.")
    client = login(trainer)
    text = client.get(door("history", row_of(agent)), {"a": first.pk, "b": last.pk}).content.decode()
    assert "I mend <del>pots</del><ins>boats</ins>." in text
    assert text.count('type="radio"') == 6 and "restore …" in text
    newest = client.get(door("history", row_of(agent))).content.decode()
    assert "I <del>sail</del><ins>mend boats</ins>." in newest


def test_selves_of_another_agent_are_not_compared(agent, trainer, make_agent):
    written(agent, "I mend pots.")
    foreign = written(make_agent("minato"), "A secret of Minato.")[0]
    text = login(trainer).get(door("history", row_of(agent)), {"a": foreign.pk}).content.decode()
    assert "secret" not in text


def test_without_a_self_the_history_says_what_to_do(agent, trainer):
    assert "has no self yet" in login(trainer).get(door("history", row_of(agent))).content.decode()


def test_going_back_says_what_will_happen_and_only_then_does_it(agent, trainer, proposal):
    first, second = written(agent, "I mend pots.", "I mend boats.")
    client = login(trainer)
    asked = client.get(door("restore_confirm", first)).content.decode()
    assert "I mend <del>boats</del><ins>pots</ins>." in asked and "Nothing is deleted" in asked
    assert f"proposal {proposal.pk}" in asked and "gets out of date" in asked
    assert GrowthState.objects.get(is_current=True) == second
    client.post(door("restore", first), {"current": second.pk})
    assert GrowthState.objects.get(is_current=True).content == "I mend pots."


def test_going_back_over_a_self_that_was_not_shown_asks_again(agent, trainer):
    first, second = written(agent, "I mend pots.", "I mend boats.")
    written(agent, "I sail.")
    answer = login(trainer).post(door("restore", first), {"current": second.pk})
    text = answer.content.decode()
    assert answer.status_code == 409 and "Meanwhile another self" in text and "<del>sail</del>" in text
    assert GrowthState.objects.get(is_current=True).content == "I sail."


def test_a_cycle_is_followed_by_a_script_of_its_own_and_without_one(agent, trainer):
    with ScriptedHost([]) as host, host.installed():
        run = runs.request(agent, by=trainer)
    client = login(trainer)
    text = client.get(page("growthrun", run)).content.decode()
    assert "growth/progress.js" in text and '<noscript><meta http-equiv="refresh"' in text
    answer = client.get(door("run_progress", run)).json()
    assert answer["is_open"] and answer["steps"][0]["css"] == "is-now" and answer["lines"] == []


def test_a_finished_cycle_shows_every_call_and_every_verdict(agent, trainer, live_week):
    live_week(agent)
    run, _ = run_now(agent, "sorry", reply(ABSTRACT), reply(NOTE))
    client = login(trainer)
    text = client.get(page("growthrun", run)).content.decode()
    assert "Calls to the language model (3)" in text and text.count("what was sent") == 3
    assert f"Verdicts of the guards ({len(run.guards)})" in text and len(run.guards) >= 3
    assert run.fingerprint[:12] in text and "growth/progress.js" not in text
    answer = client.get(door("run_progress", run)).json()
    assert (answer["is_open"], answer["percent"]) == (False, 100) and len(answer["lines"]) == len(run.guards)


def test_a_cycle_leads_to_its_proposal_and_back(proposal, trainer):
    client = login(trainer)
    run = GrowthRun.objects.get()
    assert page("proposal", proposal) in client.get(page("growthrun", run)).content.decode()
    assert page("growthrun", run) in client.get(page("proposal", proposal)).content.decode()
    card = client.get(page("growthsettings", row_of(proposal.agent))).content.decode()
    assert f"Proposal {proposal.pk} waits for a decision" in card


def test_what_the_environment_holds_is_shown_with_its_reason(agent, trainer, monkeypatch):
    monkeypatch.setenv("GROWTH_DIARY_DAYS", "900")
    text = login(trainer).get(page("growthsettings", row_of(agent))).content.decode()
    assert "set by GROWTH_DIARY_DAYS in the environment" in text and 'name="diary_days"' not in text
    assert "diary_days: " in text and "It is not followed" in text


def test_by_hand_text_that_does_not_fit_comes_back(agent, trainer):
    form = {"content": "I " * 2500, "likes": "my like", "dislikes": ""}
    answer = login(trainer).post(door("by_hand", row_of(agent)), form)
    text = answer.content.decode()
    assert answer.status_code == 400 and "my like" in text and "I I I" in text
    assert not GrowthState.objects.exists()


def test_pages_load_nothing_inline_of_ours(proposal, trainer):
    client = login(trainer)
    for path in (reverse("admin:growth_desk"), page("proposal", proposal)):
        ours = client.get(path).content.decode().split('<section class="growth"')[1].split("</section>")[0]
        assert "<script" not in ours and " on" + "click" not in ours and "style=" not in ours
