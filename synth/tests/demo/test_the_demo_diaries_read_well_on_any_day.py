"""The demo stories are complete, fit any seeding day, and are the right size to reflect on."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import pytest

from synth.demo.story import Story, stories

STORIES = stories()
SOURCES = {"user", "agent", "tool", "recalled", "system"}
# A diary that names a weekday, a month or a date would be wrong on most seeding days.
CALENDAR_WORDS = re.compile(
    r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(january|february|march|april|june|july|august|september"
    r"|october|november|december|christmas|easter)\b|[月火水木金土日]曜|[0-9一二三四五六七八九十]月[0-9一二三四五六七八九十]*日?",
    re.IGNORECASE,
)
each = pytest.mark.parametrize("story", STORIES, ids=[story.slug for story in STORIES])


def test_one_agent_lives_in_english_and_one_in_another_language():
    assert [story.language for story in STORIES] == ["en", "ja"]
    assert len({story.timezone for story in STORIES}) == 2


@each
def test_every_one_of_the_last_21_days_has_two_to_four_entries(story: Story):
    days = Counter(moment.days_ago for moment in story.diary)
    assert sorted(days) == list(range(1, 22))
    assert set(days.values()) <= {2, 3, 4}


@each
def test_entries_are_told_in_order_and_use_known_sources(story: Story):
    order = [(-moment.days_ago, moment.at) for moment in story.diary]
    assert order == sorted(order)
    kinds = Counter(moment.source for moment in story.diary)
    assert set(kinds) == SOURCES
    assert kinds["recalled"] + kinds["system"] <= 3


@each
def test_entries_are_neither_notes_nor_essays(story: Story):
    low, high = (40, 150) if story.language == "en" else (60, 400)
    for moment in story.diary:
        size = len(moment.content.split()) if story.language == "en" else len(moment.content)
        assert low <= size <= high, (moment.days_ago, moment.at, size)


@each
def test_no_text_names_a_weekday_or_a_month(story: Story):
    texts = [moment.content for moment in story.diary] + [note.text for note in story.memories]
    assert [text for text in texts if CALENDAR_WORDS.search(text)] == []


@each
def test_persona_lists_and_memories_are_there(story: Story):
    assert story.persona.count("\n\n") == 2
    assert len(story.likes) >= 3 and len(story.dislikes) >= 3
    assert 8 <= len(story.memories) <= 12
    names = [note.name for note in story.memories]
    assert len(set(names)) == len(names)
    assert any(note.kind == "preference" for note in story.memories)


@each
@pytest.mark.parametrize("today", [date(2026, 11, 2), date(2026, 3, 30), date(2028, 3, 1), date(2026, 1, 1)])
def test_the_week_before_any_seeding_day_is_full_in_local_time(story: Story, today: date):
    zone = ZoneInfo(story.timezone)
    placed = list(story.placed(today))
    assert all(at.tzinfo is UTC for at, _ in placed)
    local_days = {at.astimezone(zone).date() for at, _ in placed}
    assert {today - timedelta(days=n) for n in range(1, 8)} <= local_days
    assert today not in local_days
