"""docs/privacy.md names every stored text: who reads it, how long it stays, what erases it."""

from __future__ import annotations

from synth.docs_pages import privacy, tables


def _page_with(columns: str) -> str:
    """The page with other columns in the diary's row."""
    return privacy.PAGE.read_text(encoding="utf-8").replace("content, people, tags", columns)


def test_every_stored_text_is_listed_and_nothing_else():
    assert privacy.problems() == []


def test_a_column_missing_from_the_page_is_named():
    page = _page_with("content, people")
    assert "synth.DiaryEntry.tags is stored but docs/privacy.md does not list it" in privacy.problems(page)


def test_a_column_that_no_longer_exists_is_named():
    page = _page_with("content, people, tags, mood")
    assert privacy.problems(page) == ["docs/privacy.md lists synth.DiaryEntry.mood, which is not stored"]


def test_every_row_says_who_reads_it_how_long_and_what_erases_it():
    rows = [row for row in tables.read(privacy.PAGE.read_text(encoding="utf-8")) if "columns" in row]
    assert rows
    assert [row for row in rows if not all(row.values())] == []
