"""Unused dialogues are deleted after the days an install wants, scratch ones after one; agents remember."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from synth import faults, options
from synth.models import AuditEntry, Dialogue, DiaryEntry, Sitting
from synth.rowqueue.deadline import Deadline
from synth.services import dialogue_retention as retention
from synth.services import dialogues, diary
from synth.tests.chat.asking import streaming


@pytest.fixture(autouse=True)
def thirty_days(monkeypatch):
    monkeypatch.setenv("DIALOGUE_RETENTION_DAYS", "30")


def aged(row, days, **values):
    """The dialogue as if it was last used so many days ago."""
    Dialogue.objects.filter(pk=row.pk).update(at=now() - timedelta(days=days), **values)
    row.refresh_from_db()
    return row


def left():
    return set(Dialogue.objects.values_list("pk", flat=True))


def test_people_keep_their_dialogues_for_ever_unless_told_otherwise(dialogue, monkeypatch):
    monkeypatch.delenv("DIALOGUE_RETENTION_DAYS")
    aged(dialogue, 4_000)
    assert options.read("DIALOGUE_RETENTION_DAYS") == 0
    assert not retention.sweep(now()) and left() == {dialogue.pk}


def test_the_unused_go_with_a_receipt_and_the_used_stay(dialogue, trainers_dialogue, agent):
    dialogues.attach_proactive_node(dialogue, "The tide is out.")
    aged(dialogue, 31)
    aged(trainers_dialogue, 29)
    counts = retention.sweep(now())
    assert (counts["synth.Dialogue"], counts["synth.Message"]) == (1, 1)
    assert left() == {trainers_dialogue.pk}
    entry = AuditEntry.objects.get(action="dialogue_delete")
    assert (entry.actor_label, entry.door, entry.agent) == ("retention", "task", agent)
    assert entry.object == f"synth.dialogue:{dialogue.pk}"
    assert entry.after == {"removed": {"synth.Dialogue": 1, "synth.Message": 1}}


def test_it_counts_from_when_it_was_brought_back(dialogue):
    aged(dialogue, 400, unarchived_at=now() - timedelta(days=29))
    assert not retention.sweep(now()) and left()
    assert retention.sweep(now() + timedelta(days=2)) and not left()


def test_one_that_is_put_away_goes_as_well(dialogue):
    aged(dialogue, 31, archived_at=now() - timedelta(days=31))
    assert retention.sweep(now()) and not left()


def test_scratch_ones_go_after_a_day_whatever_the_days(agent, person, dialogue, monkeypatch):
    monkeypatch.setenv("DIALOGUE_RETENTION_DAYS", "0")
    young, old = (dialogues.create(agent, person, scratch=True) for _ in range(2))
    aged(old, 1.1)
    aged(young, 0.9)
    aged(dialogue, 50)
    assert retention.sweep(now())["synth.Dialogue"] == 1
    assert left() == {young.pk, dialogue.pk}


def test_the_agent_keeps_its_diary_and_a_person_who_deletes_takes_it(dialogue, trainers_dialogue, agent):
    for row in (dialogue, trainers_dialogue):
        entry = diary.write(agent, content=f"We spoke in {row.pk}.", at=now())
        Sitting.objects.create(dialogue=row, until=row.at, status="done", entry=entry, due_at=now())
    aged(dialogue, 31)
    counts = retention.sweep(now())
    assert "synth.DiaryEntry" not in counts and DiaryEntry.objects.count() == 2
    assert dialogues.delete(trainers_dialogue)["synth.DiaryEntry"] == 1
    assert DiaryEntry.objects.get().content == f"We spoke in {dialogue.pk}."


def test_one_with_an_answer_on_its_way_or_a_sitting_not_written_stays(dialogue, trainers_dialogue):
    streaming(dialogue)
    aged(dialogue, 31)
    aged(trainers_dialogue, 31)
    sitting = Sitting.objects.create(dialogue=trainers_dialogue, until=trainers_dialogue.at, due_at=now())
    assert not retention.sweep(now()) and len(left()) == 2
    Sitting.objects.filter(pk=sitting.pk).update(status="done")
    assert retention.sweep(now())["synth.Dialogue"] == 1 and left() == {dialogue.pk}


def test_one_that_is_used_again_in_that_moment_stays(dialogue):
    """What the row says once it is locked counts, not what the list said."""
    aged(dialogue, 31)
    listed = retention._due(now())
    pk = next(listed)
    dialogues.attach_proactive_node(dialogue, "I am back.")
    assert retention._let_go(pk, now()) == {} and left() == {dialogue.pk}


def test_a_backlog_goes_in_chunks_until_the_time_is_over(agent, person, monkeypatch):
    monkeypatch.setattr(retention, "_CHUNK", 2)
    rows = [aged(dialogues.create(agent, person), 31 + n) for n in range(5)]
    spent = Deadline(0)
    assert not retention.sweep(now(), spent) and len(left()) == 5
    stuck = streaming(rows[3])
    assert retention.sweep(now())["synth.Dialogue"] == 4 and left() == {stuck.dialogue_id}


@pytest.mark.django_db(transaction=True)
def test_each_goes_by_itself_so_one_that_fails_takes_no_other_along(agent, person, monkeypatch):
    for n in range(3):
        aged(dialogues.create(agent, person), 31 + n)
    seen = []

    def broken(name):
        if name == "dialogues.retention.before":
            seen.append(name)
            if len(seen) == 2:
                raise OSError("no")

    monkeypatch.setattr(faults, "point", broken)
    with pytest.raises(OSError):
        retention.sweep(now())
    assert len(left()) == 2
