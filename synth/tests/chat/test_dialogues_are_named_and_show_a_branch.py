"""A dialogue without a title is named by its first words; the branch it shows can be chosen."""

from __future__ import annotations

from typing import Any

import pytest

from synth.models import Dialogue, Message
from synth.services import dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.api.conftest import Callers, agent, callers, no_limits, person  # noqa: F401 - fixtures
from synth.tests.chat.conftest import call


@pytest.fixture
def dialogue(agent, callers):  # noqa: F811 - fixtures
    return dialogues.create(agent, callers.person)


def say(row, content, *, parent=None, at_root=False, reply="Mm."):
    with ScriptedHost([reply]) as host, host.installed():
        return turns.take(row, row.person, content, parent, at_root=at_root)


def title(row):
    return Dialogue.objects.get(pk=row.pk).title


def url(row):
    return f"/api/dialogues/{row.pk}/"


def test_the_first_words_name_it_and_no_model_is_asked(dialogue):
    with ScriptedHost(["Rain."]) as host, host.installed():
        turns.take(dialogue, dialogue.person, "How is the weather\n up there? I wonder.")
        assert len(host.requests) == 1
    assert title(dialogue) == "How is the weather up there?"
    say(dialogue, "Something else.")
    assert title(dialogue) == "How is the weather up there?"


def test_a_given_title_stays(agent, callers):  # noqa: F811
    row = dialogues.create(agent, callers.person, title="Ours")
    say(row, "Hello.")
    assert title(row) == "Ours"


def test_a_title_that_was_taken_away_does_not_come_back(dialogue, person):  # noqa: F811
    say(dialogue, "Hello.")
    assert person.patch(url(dialogue), {"title": ""}).json()["title"] == ""
    say(dialogue, "Again.")
    assert title(dialogue) == ""


def test_signs_alone_name_it_somehow_and_long_words_are_cut(dialogue, agent, callers):  # noqa: F811
    say(dialogue, "***")
    assert title(dialogue) == "New chat"
    other = dialogues.create(agent, callers.person)
    say(other, "x" * 5_000)
    assert 0 < len(title(other)) <= dialogues.MAX_TITLE_CHARS


def test_another_branch_is_shown_down_to_its_newest_end(dialogue, person):  # noqa: F811
    first = say(dialogue, "One")
    say(dialogue, "Two", parent=first)
    end = Message.objects.latest("pk")
    say(dialogue, "Another way", at_root=True)
    root = Message.objects.get(content="One")
    shown = person.patch(url(dialogue), {"active_leaf": root.pk})
    assert (shown.status_code, shown.json()["active_leaf"]) == (200, end.pk)


def test_a_branch_that_ends_with_actions_is_shown_with_its_answer(add, dialogue, person):  # noqa: F811
    add()
    replies: list[Any] = [{"tool_calls": [call()]}, "Rung.", "No bell today."]
    with ScriptedHost(replies) as host, host.installed():
        answer = turns.take(dialogue, dialogue.person, "Ring it.")
        said = Message.objects.get(role="user")
        turns.retake(dialogue, dialogue.person, said)
    result = Message.objects.get(role="tool")
    for through in (answer.pk, result.pk, result.parent_id):
        shown = person.patch(url(dialogue), {"active_leaf": through})
        assert (shown.status_code, shown.json()["active_leaf"]) == (200, answer.pk)
    newest = person.patch(url(dialogue), {"active_leaf": said.pk}).json()["active_leaf"]
    assert Message.objects.get(pk=newest).content == "No bell today."


def test_only_a_message_of_this_dialogue_can_be_shown(dialogue, person, agent, callers):  # noqa: F811
    elsewhere = dialogues.attach_proactive_node(dialogues.create(agent, callers.person), "Hi.")
    for unknown in (elsewhere.pk, 9_223_372_036_854_775_807):
        answer = person.patch(url(dialogue), {"active_leaf": unknown, "title": "New"})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (
            404,
            "message_not_found",
            "active_leaf",
        )
    for wrong in (0, "x", None, 2**63):
        answer = person.patch(url(dialogue), {"active_leaf": wrong}, format="json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "active_leaf")
    assert title(dialogue) == "", "nothing of a refused change is kept"


def test_no_other_branch_is_shown_while_an_answer_is_written(dialogue, person):  # noqa: F811
    first = dialogues.attach_proactive_node(dialogue, "Hi.")
    Message.objects.create(dialogue=dialogue, parent=first, role="assistant", status="streaming")
    answer = person.patch(url(dialogue), {"active_leaf": first.pk})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "turn_running")
