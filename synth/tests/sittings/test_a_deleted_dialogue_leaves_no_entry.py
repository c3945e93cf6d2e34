"""Deleting a dialogue takes the diary entries made from it, copies of them, and a summary being written."""

from __future__ import annotations

import pytest
from django.utils import timezone

from synth.llm import Message as Sent
from synth.llm import Request, complete
from synth.models import Dialogue, DiaryEntry, LlmCall, PromptPart, Sitting
from synth.services import dialogues, diary, erase, sittings
from synth.testing.scripted_host import ScriptedHost

ENTRY = "Pia told me that her blue kettle leaks at the spout. I said we would glue it."


def write(*replies):
    with ScriptedHost(replies) as host, host.installed():
        sittings.end_due(timezone.now())
        sittings.run_waiting()


def on_record() -> str:
    calls = list(LlmCall.objects.values_list("response_text", "error"))
    return f"{calls} {list(PromptPart.objects.values_list('text', flat=True))}"


def test_the_receipt_names_the_entry_and_other_entries_stay(talked, agent):
    diary.write(agent, content="I polished the lamp.")
    write(ENTRY)
    receipt = dialogues.delete(talked)
    assert (receipt["synth.Sitting"], receipt["synth.DiaryEntry"], receipt["synth.Dialogue"]) == (1, 1, 1)
    assert [entry.content for entry in DiaryEntry.objects.all()] == ["I polished the lamp."]
    assert "kettle" not in on_record()


def test_a_reflection_that_read_the_entry_forgets_it(talked, agent):
    write(ENTRY)
    other = Sent("user", "I polished the lamp and nothing else happened.")
    with ScriptedHost(["I think of the kettle.", "A lamp."]) as host, host.installed():
        complete(Request("reflection", [Sent("system", "Look back."), Sent("user", ENTRY)], agent, "cycle:1"))
        complete(Request("reflection", [Sent("system", "Look back."), other], agent, "cycle:2"))
    dialogues.delete(talked)
    assert "kettle" not in on_record()
    assert "polished the lamp" in on_record() and "A lamp." in on_record()


@pytest.mark.django_db(transaction=True)
def test_a_dialogue_deleted_while_its_summary_is_written_leaves_nothing(talked):
    def reply(_request):
        dialogues.delete(Dialogue.objects.get())
        return ENTRY

    write(reply)
    assert not DiaryEntry.objects.exists() and not Sitting.objects.exists()
    assert "kettle" not in on_record()


def test_erasing_the_person_takes_the_entry(talked):
    write(ENTRY)
    receipt = erase.erase_person("pia", at=timezone.now())
    assert receipt.counts["core"]["synth.DiaryEntry"] == 1 and not DiaryEntry.objects.exists()
