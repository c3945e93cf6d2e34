"""A deleted dialogue, or an erased person, leaves nothing of what was said."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from synth import liveness
from synth.chat import events
from synth.errors import Conflict
from synth.models import Dialogue, LlmCall, Message, PromptPart
from synth.services import dialogues, erase, people, retention, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import call
from synth.tests.chat.running import ended, served, until


def say(dialogue, content, *replies):
    with ScriptedHost(replies) as host, host.installed():
        return turns.take(dialogue, dialogue.person, content)


def on_record() -> str:
    calls = LlmCall.objects.values_list("response_text", "tool_calls", "error")
    return f"{list(calls)} {list(PromptPart.objects.values_list('text', flat=True))}"


def test_prompts_and_replies_are_forgotten_except_what_others_sent_too(dialogue, trainers_dialogue, add):
    add()
    say(dialogue, "My secret is plum.", {"tool_calls": [call(arguments={"times": 77})]}, "Plum it is.")
    say(dialogue, "Good day to you.", "Plum day.")
    say(trainers_dialogue, "Good day to you.", "Good day.")
    dialogues.delete(Dialogue.objects.get(pk=dialogue.pk))
    assert "lum" not in on_record() and "77" not in on_record()
    assert PromptPart.objects.filter(text="Good day to you.").exists()
    assert LlmCall.objects.count() == 4 and Message.objects.count() == 2


def test_what_two_dialogues_share_goes_with_the_second_of_them(dialogue, agent, person):
    """As when a frontend begins a talk anew with the same words, and its person deletes both."""
    other = dialogues.create(agent, person)
    for row in (dialogue, other):
        say(row, "My secret is plum.", "Plum it is.")
        say(row, "Good day to you.", "Plum day.")
    dialogues.delete(dialogue)
    assert PromptPart.objects.filter(text="My secret is plum.").exists()
    dialogues.delete(other)
    assert "lum" not in on_record()


@pytest.mark.django_db(transaction=True)
def test_what_two_dialogues_share_goes_also_when_both_are_deleted_at_once(dialogue, agent, person):
    other = dialogues.create(agent, person)
    for row in (dialogue, other):
        say(row, "My secret is plum.", "Plum it is.")

    def meanwhile():
        dialogues.delete(other)
        connection.close()

    with transaction.atomic():
        dialogues.delete(dialogue)
        thread = threading.Thread(target=meanwhile)
        thread.start()
        thread.join(20)
    assert not Dialogue.objects.exists() and "lum" not in on_record()


def test_what_a_living_dialogue_sent_too_stays_though_another_is_gone(dialogue, agent, person):
    kept = dialogues.create(agent, person)
    gone = dialogues.create(agent, person)
    for row in (dialogue, kept, gone):
        say(row, "Good day to you.", "Good day.")
    for row in (dialogue, gone):
        dialogues.delete(row)
    assert PromptPart.objects.filter(text="Good day to you.").exists()


def test_a_long_branch_is_deleted(dialogue):
    parent = None
    for n in range(1500):
        parent = Message(dialogue=dialogue, role="user", content=f"m{n}", parent=parent, id=10_000_000 + n)
        parent.save(force_insert=True)
    assert parent is not None
    dialogues.touch(dialogue, leaf=parent)
    assert dialogues.delete(dialogue)["synth.Message"] == 1500


def test_erasing_a_person_takes_their_dialogues_and_what_two_of_them_share(dialogue, agent, person):
    other = dialogues.create(agent, person, title="Second")
    for row in (dialogue, other):
        say(row, "I collect umbrellas in secret.", "So many of them.")
    receipt = erase.erase_person("pia", at=timezone.now())
    assert receipt.counts["synth.dialogues"]["synth.Dialogue"] == 2
    assert "umbrella" not in on_record() and "So many" not in on_record()
    assert not Dialogue.objects.exists() and not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_person_erased_while_the_agent_thinks_leaves_nothing_on_record(dialogue):
    def reply(_request):
        erase.erase_person("pia", at=timezone.now())
        connection.close()
        return "Umbrellas, I see."

    with pytest.raises(Conflict):
        say(dialogue, "I collect umbrellas in secret.", reply)
    assert "mbrella" not in on_record() and not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_words_told_after_the_erasure_do_not_stay_in_redis(dialogue):
    def reply(_request):
        erase.erase_person("pia", at=timezone.now())
        connection.close()
        return "Umbrellas, I see."

    with served(reply):
        answer = turns.begin(dialogue, dialogue.person, "I collect umbrellas in secret.").answer
        until(lambda: not Message.objects.exists())
    assert not liveness.client().exists(events.stream_key(answer.pk))


@pytest.mark.django_db(transaction=True)
def test_what_an_erased_agent_told_does_not_stay_in_redis(dialogue):
    with served("Umbrellas, I see."):
        answer = ended(turns.begin(dialogue, dialogue.person, "I collect umbrellas.").answer)
    key = events.stream_key(answer.pk)
    assert liveness.client().exists(key)
    erase.erase_agent(dialogue.agent.slug, at=timezone.now(), is_dry_run=True)
    assert liveness.client().exists(key)
    erase.erase_agent(dialogue.agent.slug, at=timezone.now())
    assert not liveness.client().exists(key)


def test_erasing_somebody_else_takes_nothing(dialogue):
    people.ensure("ada")
    say(dialogue, "Hello.", "Hi.")
    erase.erase_person("ada", at=timezone.now())
    assert Message.objects.count() == 2 and "Hi." in on_record()


def test_erasing_the_agent_takes_its_dialogues(dialogue):
    say(dialogue, "Hello wren.", "Chirp.")
    erase.erase_agent("wren", at=timezone.now())
    assert not Dialogue.objects.exists() and "Chirp" not in on_record()


def test_bodies_of_chat_calls_go_after_two_weeks_and_the_messages_stay(dialogue, add):
    add()
    say(dialogue, "Ring.", {"tool_calls": [call(arguments={"times": 77})]}, "Plum.")
    LlmCall.objects.update(at=timezone.now() - timedelta(days=15))
    retention.sweep(timezone.now())
    assert "77" not in on_record() and "Plum" not in on_record()
    assert Message.objects.filter(content="Plum.").exists()


@pytest.mark.parametrize("scratch", [True, False])
def test_a_dialogue_of_either_kind_goes(agent, person, scratch):
    row = dialogues.create(agent, person, scratch=scratch)
    assert dialogues.delete(row) == {"synth.Dialogue": 1}
