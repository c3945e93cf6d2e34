"""A dialogue's toolkit says which actions its agent has; only its person changes it."""

from __future__ import annotations

import pytest

from synth import toolkits
from synth.actions import Action, Outcome
from synth.errors import Invalid
from synth.models import Dialogue
from synth.services import dialogues
from synth.services import toolkits as kits
from synth.toolkits import Toolkit


def action(name: str, *own: str) -> Action:
    return Action(name, "", lambda turn, arguments: Outcome(""), toolkits=frozenset(own))


@pytest.fixture
def bells():
    toolkits.register(Toolkit("bells", "Ringing.", frozenset({"bell_ring"})))
    yield
    toolkits.unregister("bells")


@pytest.mark.parametrize(
    ("kit", "named", "allowed"),
    [
        ("default", action("bell_ring"), True),
        ("default", action("bell_cast", "bells"), False),
        ("bells", action("bell_ring"), True),
        ("bells", action("bell_cast", "bells"), True),
        ("bells", action("memory_read"), False),
        ("talk", action("memory_read"), False),
        ("companion", action("memory_write"), True),
        ("companion", action("memory_forget"), False),
        ("memory_care", action("memory_forget"), True),
        ("of_an_app_that_is_gone", action("memory_read"), False),
    ],
)
def test_a_kit_has_what_it_lists_and_what_names_it(bells, kit, named, allowed):
    assert toolkits.allows(Dialogue(toolkit=kit), named) is allowed


def test_work_without_a_dialogue_has_the_default_kit():
    assert toolkits.allows(None, action("bell_ring"))
    assert not toolkits.allows(None, action("bell_cast", "bells"))


def test_names_are_taken_once_and_plain(bells):
    with pytest.raises(ValueError, match="twice"):
        toolkits.register(Toolkit("bells", ""))
    for name in ("Bells", "none", "", "a-b"):
        with pytest.raises(ValueError):
            Toolkit(name, "")
    assert next(toolkits.registered()).name == "default"


def test_a_choice_is_kept_and_safe_to_repeat(dialogue):
    assert (dialogue.toolkit, dialogue.toolkit_origin) == ("default", "default")
    for _ in range(2):
        row = kits.choose(dialogue, "talk")
        assert (row.toolkit, row.toolkit_origin) == ("talk", "chosen")
    assert kits.choose(dialogue, "default").toolkit_origin == "chosen"
    with pytest.raises(Invalid) as caught:
        kits.choose(dialogue, "nothing")
    assert (caught.value.code, caught.value.field) == ("unknown_toolkit", "toolkit")


def test_a_dialogue_that_continues_another_inherits_and_may_choose(dialogue, agent, person):
    source = kits.choose(dialogue, "companion")
    heir = kits.begin(agent, person, source=source)
    assert (heir.toolkit, heir.toolkit_origin) == ("companion", "inherited")
    other = kits.begin(agent, person, source=source, toolkit="talk")
    assert (other.toolkit, other.toolkit_origin) == ("talk", "chosen")


def test_only_a_dialogue_on_the_default_kit_is_suggested_one_and_once(dialogue, agent, person):
    assert not kits.suggest(str(dialogue.pk), "nothing", "run", is_shown=True)
    assert not kits.suggest(str(dialogue.pk), "default", "run", is_shown=True)
    assert kits.suggest(str(dialogue.pk), "talk", "run", is_shown=True)
    assert not kits.suggest(str(dialogue.pk), "companion", "run", is_shown=True)
    dialogue.refresh_from_db()
    assert kits.suggested(dialogue) == "talk" and dialogue.toolkit == "default"
    chosen = kits.begin(agent, person, toolkit="companion")
    assert not kits.suggest(str(chosen.pk), "talk", "run", is_shown=True)
    scratch = dialogues.create(agent, person, scratch=True)
    assert not kits.suggest(str(scratch.pk), "talk", "run", is_shown=True)


def test_taking_a_suggestion_says_so_and_another_choice_declines_it(dialogue, agent, person):
    kits.suggest(str(dialogue.pk), "talk", "run", is_shown=True)
    row = kits.choose(dialogue, "talk")
    assert (row.toolkit, row.toolkit_origin, kits.suggested(row)) == ("talk", "suggested", None)
    other = dialogues.create(agent, person)
    kits.suggest(str(other.pk), "talk", "run", is_shown=True)
    row = kits.choose(other, "default")
    assert (row.toolkit, row.toolkit_origin, kits.suggested(row)) == ("default", "chosen", None)


def test_a_suggestion_that_was_only_looked_at_is_not_shown(dialogue):
    kits.suggest(str(dialogue.pk), "talk", "run", is_shown=False)
    dialogue.refresh_from_db()
    assert kits.suggested(dialogue) is None
    assert kits.choose(dialogue, "talk").toolkit_origin == "chosen"
