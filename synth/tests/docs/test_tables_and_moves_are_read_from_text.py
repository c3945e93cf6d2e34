"""The pure helpers behind the generated pages: tables and status moves."""

from __future__ import annotations

from synth.docs_pages import moves, tables

DOCSTRING = """A thing. Moves: `new → busy → done | failed`, `busy → new` after a crash; `lost` is born so."""


def test_a_table_comes_back_as_it_was_written():
    text = tables.write(["a", "b"], [("1", "x | y"), ("2", "`z`")])
    assert list(tables.read(text)) == [{"a": "1", "b": "x | y"}, {"a": "2", "b": "`z`"}]


def test_two_tables_on_a_page_keep_their_own_heads():
    text = tables.write(["a"], [("1",)]) + "\n\nwords\n\n" + tables.write(["b"], [("2",)])
    assert list(tables.read(text)) == [{"a": "1"}, {"b": "2"}]


def test_moves_branch_and_may_lead_back():
    assert moves.edges(DOCSTRING) == [("new", "busy"), ("busy", "done"), ("busy", "failed"), ("busy", "new")]


def test_a_status_the_docstring_forgets_or_invents_is_a_problem():
    assert moves.problems(["new", "busy", "done", "failed", "lost"], DOCSTRING) == []
    assert moves.problems(["new", "busy", "done", "failed", "lost", "held"], DOCSTRING) == [
        "`held` is not in the docstring"
    ]
    found = moves.problems(["new", "busy", "done", "lost"], DOCSTRING)
    assert found == ["`failed` is drawn but is no status"]


def test_a_diagram_starts_at_the_default_and_at_what_nothing_leads_to():
    drawn = moves.diagram(["new", "busy", "done", "failed", "lost"], "new", moves.edges(DOCSTRING))
    starts = [line.strip() for line in drawn.splitlines() if "[*] -->" in line]
    ends = [line.strip() for line in drawn.splitlines() if "--> [*]" in line]
    assert starts == ["[*] --> new", "[*] --> lost"]
    assert ends == ["done --> [*]", "failed --> [*]", "lost --> [*]"]
