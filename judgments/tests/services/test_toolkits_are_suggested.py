"""After a dialogue's first prompt a toolkit may be suggested; what the person makes of it is a label."""

from __future__ import annotations

from typing import Any

import pytest

from synth.services import agents, dialogues, people, toolkits, turns
from synth.testing.scripted_host import ScriptedHost

NAME = "toolkit.suggest"


@pytest.fixture
def dialogue(db: None) -> Any:
    return dialogues.create(agents.create(slug="wren", name="Wren"), people.ensure("pia"))


def say(dialogue: Any, *contents: str) -> None:
    with ScriptedHost(["Yes."] * len(contents)) as host, host.installed():
        for content in contents:
            turns.take(dialogue, dialogue.person, content)


def pick(name: str):
    """The host's answer: this kit, and not much else."""

    def answer(state):
        names = [*state["toolkits"], "none"]
        return {
            "toolkit": {
                "type": "choice", "choice": name, "confidence": 0.9,
                "probabilities": {one: 0.94 if one == name else 0.02 for one in names},
            }
        }  # fmt: skip

    return answer


def test_in_audit_it_is_only_looked_at(dialogue, judgments):
    judgments.mode(NAME, "audit")
    judgments.answer(NAME, pick("talk"))
    say(dialogue, "Tell me a story.", "Another one.")
    judgments.wait()
    run = judgments.runs(NAME)[0]
    assert (len(judgments.runs(NAME)), run.session_id) == (1, f"dialogue:{dialogue.pk}")
    assert run.state["message"] == "Tell me a story." and "default" not in run.state["toolkits"]
    dialogue.refresh_from_db()
    assert (dialogue.toolkit, toolkits.suggested(dialogue)) == ("default", None)
    toolkits.choose(dialogue, "talk")
    label = judgments.labels(NAME)[0]
    assert (label.value, label.strength, label.by) == ("taken", "weak", "toolkit:user")


@pytest.mark.parametrize(("chosen", "value"), [("talk", "taken"), ("default", "declined")])
def test_in_mode_on_it_is_shown_and_the_persons_choice_labels_it(dialogue, judgments, chosen, value):
    judgments.answer(NAME, pick("talk"))
    say(dialogue, "Tell me a story.")
    judgments.wait()
    dialogue.refresh_from_db()
    assert (dialogue.toolkit, toolkits.suggested(dialogue)) == ("default", "talk")
    toolkits.choose(dialogue, chosen)
    toolkits.choose(dialogue, chosen)
    labels = judgments.labels(NAME)
    assert [(label.value, label.strength) for label in labels] == [(value, "strong")]
    assert [event.value for event in judgments.acted(NAME)] == ["shown"]


@pytest.mark.parametrize("answer", [pick("none"), lambda state: None])
def test_no_kit_or_no_clear_one_suggests_nothing(dialogue, judgments, answer):
    judgments.answer(NAME, answer)
    say(dialogue, "Tell me a story.")
    judgments.wait()
    dialogue.refresh_from_db()
    assert toolkits.suggested(dialogue) is None and len(judgments.runs(NAME)) == 1


def test_a_failing_host_suggests_nothing(dialogue, judgments):
    judgments.fail(NAME)
    say(dialogue, "Tell me a story.")
    judgments.wait()
    dialogue.refresh_from_db()
    assert toolkits.suggested(dialogue) is None


def test_dialogues_with_a_kit_of_their_own_and_scratch_ones_are_not_asked_about(dialogue, judgments):
    judgments.answer(NAME, pick("talk"))
    agent = dialogue.agent
    say(toolkits.begin(agent, dialogue.person, toolkit="companion"), "Hi.")
    say(dialogues.create(agent, dialogue.person, scratch=True), "Hi.")
    judgments.wait()
    assert judgments.asks == []


def test_a_choice_made_before_the_answer_stands(dialogue, judgments):
    judgments.answer(NAME, pick("talk"))
    say(dialogue, "Tell me a story.")
    toolkits.choose(dialogue, "companion")
    judgments.wait()
    dialogue.refresh_from_db()
    assert (dialogue.toolkit, toolkits.suggested(dialogue)) == ("companion", None)
