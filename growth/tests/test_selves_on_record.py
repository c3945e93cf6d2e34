"""States: one current, ten kept, nothing rewritten, lists with their text."""

from __future__ import annotations

import threading

import pytest
from django.apps import apps
from django.db import connection

from growth.models import GrowthState
from growth.services import states
from synth.errors import Invalid, NotFound, Refused


def commit(agent, text, likes=None, dislikes=None):
    return states.commit(
        agent,
        content=text,
        likes=likes,
        dislikes=dislikes,
        source="weekly",
        created_by="test",
        evidence=[{"sentence": 0, "quote": text, "diary_ids": [1]}],
    )


def lists(agent):
    agent.refresh_from_db()
    return agent.likes, agent.dislikes


def test_a_commit_demotes_the_old_self_and_sets_the_live_lists(agent):
    first = commit(agent, "I was.", likes=["tea"])
    second = commit(agent, "I am.", likes=["plum cake"], dislikes=["fog"])
    first.refresh_from_db()
    assert not first.is_current and second.is_current
    assert lists(agent) == (["plum cake"], ["fog"])
    assert first.likes == ["tea"] and first.dislikes == ["noise"]


def test_a_list_that_is_not_given_stays(agent):
    state = commit(agent, "I am.")
    assert (state.likes, state.dislikes) == (["rain"], ["noise"])


def test_the_eleventh_self_leaves_ten_with_one_current(agent):
    made = [commit(agent, f"I am number {n}.") for n in range(11)]
    rows = GrowthState.objects.filter(agent=agent)
    assert rows.count() == 10
    assert rows.get(is_current=True) == made[-1]
    assert not rows.filter(pk=made[0].pk).exists()


def test_a_blank_text_is_refused_unless_a_person_clears(agent):
    commit(agent, "I am.")
    with pytest.raises(Refused):
        commit(agent, " \n ")
    assert GrowthState.objects.get(agent=agent, is_current=True).content == "I am."
    assert states.manual_clear(agent, by=None, door="command").content == ""


def test_restoring_brings_text_and_lists_back_in_a_new_row(agent):
    old = commit(agent, "I was.", likes=["tea"], dislikes=["fog"])
    commit(agent, "I am.", likes=["cake"], dislikes=[])
    back = states.restore(old.pk, by=None, door="command")
    assert back.pk != old.pk and back.is_current and back.source == "revert"
    assert (back.content, back.likes, back.dislikes) == ("I was.", ["tea"], ["fog"])
    assert back.content_hash == old.content_hash and back.evidence == old.evidence
    assert lists(agent) == (["tea"], ["fog"])
    assert GrowthState.objects.filter(agent=agent).count() == 3


def test_a_cleared_self_can_be_restored_too(agent):
    blank = states.manual_clear(agent, by=None, door="command")
    commit(agent, "I am.")
    assert states.restore(blank.pk, by=None, door="command").content == ""


def test_restoring_what_was_pruned_is_not_found(agent):
    with pytest.raises(NotFound):
        states.restore(999_999, by=None, door="command")


def test_a_manual_edit_changes_only_what_it_names(agent):
    commit(agent, "I am.", likes=["tea"])
    state = states.manual_edit(agent, likes=["Tea ", "rain", "rain", " "], by=None, door="command")
    assert (state.content, state.likes, state.source) == ("I am.", ["Tea", "rain"], "manual")
    assert states.manual_edit(agent, content=" I changed. ", by=None, door="command").content == "I changed."


@pytest.mark.parametrize(
    "bad", [{"content": 5}, {"content": "a\x00"}, {"likes": "tea"}, {"likes": [1]}, {"content": "x" * 4001}]
)
def test_a_manual_edit_that_does_not_fit_changes_nothing(agent, bad):
    with pytest.raises(Invalid):
        states.manual_edit(agent, **bad, by=None, door="command")
    assert not GrowthState.objects.exists()


def test_a_commit_tells_and_is_audited(agent):
    state = commit(agent, "I am.")
    event = apps.get_model("synth", "OutboxEvent").objects.get(name="growth.state_committed")
    assert event.payload == {"agent_id": agent.pk, "state_id": state.pk, "source": "weekly"}
    entry = apps.get_model("synth", "AuditEntry").objects.get(action="growth_state_commit")
    assert "I am." not in str(entry.after)


@pytest.mark.django_db(transaction=True)
def test_commits_restores_and_edits_at_once_leave_one_current_self(make_agent):
    agent = make_agent("race", likes=["a"])
    old = commit(agent, "The first.", likes=["first"])
    errors: list[Exception] = []

    def work(n):
        try:
            if n % 3 == 0:
                commit(agent, f"Committed {n}.", likes=[f"c{n}"])
            elif n % 3 == 1:
                states.restore(old.pk, by=None, door="command")
            else:
                states.manual_edit(agent, content=f"Edited {n}.", by=None, door="command")
        except Exception as error:  # noqa: BLE001 - any kind fails the test
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    current = GrowthState.objects.get(agent=agent, is_current=True)
    assert GrowthState.objects.filter(agent=agent).count() == 10
    assert lists(agent) == (current.likes, current.dislikes)
