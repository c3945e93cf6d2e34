"""A person finds their own dialogues by title and by what was said, newest first, with a line around it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils.timezone import now

from synth.models import Dialogue, Message
from synth.services import dialogue_search as search
from synth.services import dialogues
from synth.tests.api.conftest import Callers, agent, callers, no_limits, person  # noqa: F401 - fixtures


@pytest.fixture
def said(agent, callers):  # noqa: F811 - fixtures
    """Makes a dialogue with messages; the later it is made, the newer."""
    at = now() - timedelta(days=1)

    def make(*contents, title="", who=None, role="user", **values):
        row = dialogues.create(agent, who or callers.person, title=title)
        for content in contents:
            Message.objects.create(dialogue=row, role=role, content=content, **values)
        nonlocal at
        at += timedelta(minutes=1)
        Dialogue.objects.filter(pk=row.pk).update(at=at)
        return row

    return make


def found(client, q, **params):
    answer = client.get("/api/dialogues/", {"q": q, **params})
    assert answer.status_code == 200, answer.content
    return {UUID(row["id"]): row["snippet"] for row in answer.json()["results"]}


@pytest.fixture(params=["few", "many"])
def ways(request, monkeypatch):
    """Both ways to search give the same."""
    if request.param == "many":
        monkeypatch.setattr(search, "MANY", -1)


def test_by_title_and_by_any_message_the_newest_first(said, person, ways):  # noqa: F811
    first = said("The kettle leaks.", "Tea then.", title="Morning")
    titled = said("Nothing.", title="All about kettles")
    said("A teapot.", title="Evening")
    assert list(found(person, "KETTLE").items()) == [(titled.pk, ""), (first.pk, "The kettle leaks.")]
    assert found(person, "zebra") == {}


def test_all_words_stand_in_one_message(said, person, ways):  # noqa: F811
    both = said("The blue kettle leaks.")
    said("The blue door.", "A kettle.")
    assert list(found(person, "kettle blue")) == [both.pk]


@pytest.mark.parametrize("q", ["ÄPFEL", "茶", "чайник", "50%", "a_b", "c\\d", "it's", '"quoted"'])
def test_any_script_and_any_sign_is_taken_as_it_is(said, person, q, ways):  # noqa: F811
    row = said('Äpfel, お茶 and Чайник at 50% of a_b in c\\d; it\'s "quoted".')
    said("Apfel, 50 percent, axb, cd, its quoted.")
    assert list(found(person, q)) == [row.pk]


def test_nobody_finds_what_others_said(said, person, callers, ways):  # noqa: F811
    said("The kettle leaks.", who=callers.trainer)
    assert found(person, "kettle") == {}


def test_answers_and_greetings_count_and_results_of_actions_do_not(said, person, ways):  # noqa: F811
    answered = said("The kettle leaks.", role="assistant")
    greeted = said("The kettle sings.", role="proactive")
    said("kettle: done", role="tool")
    said("The kettle lea", role="assistant", status="streaming")
    assert set(found(person, "kettle")) == {answered.pk, greeted.pk}


def test_put_away_ones_are_found_unless_it_is_said_which(said, person):  # noqa: F811
    here, away = said("kettle"), said("kettle")
    dialogues.archive(away)
    assert set(found(person, "kettle")) == {here.pk, away.pk}
    assert set(found(person, "kettle", archived="true")) == {away.pk}
    assert set(found(person, "kettle", archived="false", agent="wren")) == {here.pk}
    assert person.get("/api/dialogues/?q=kettle&archived=maybe").status_code == 400


def test_a_long_list_is_paged(said, person, ways):  # noqa: F811
    rows = [said("kettle") for _ in range(3)]
    page = person.get("/api/dialogues/?q=kettle&limit=2").json()
    rest = person.get(page["next"]).json()
    ids = [row["id"] for row in (*page["results"], *rest["results"])]
    assert ids == [str(row.pk) for row in reversed(rows)] and rest["next"] is None


def test_the_line_is_of_the_newest_message_and_short(said, person, ways):  # noqa: F811
    row = said("kettle one", "far " * 60 + "kettle\n\n two " + "away " * 60)
    line = found(person, "kettle")[row.pk]
    assert "kettle two" in line and line[0] == line[-1] == "…" and len(line) <= search.SNIPPET_CHARS + 2


@pytest.mark.parametrize(("q", "code"), [("x" * 201, "too_long"), ("a\x00b", "nul_character")])
def test_what_cannot_be_looked_for_is_said(person, q, code):  # noqa: F811
    answer = person.get("/api/dialogues/", {"q": q})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, code, "q")


def test_blank_words_are_no_search(said, person):  # noqa: F811
    row = said("kettle")
    assert found(person, "  ") == {row.pk: ""}


def test_the_chat_page_lists_what_was_found_as_text(said, callers):  # noqa: F811
    said("The kettle <b>leaks</b>.", title="Morning")
    browser = Client()
    browser.force_login(callers.person)
    page = browser.get("/chat/", {"q": "kettle"}).content.decode()
    assert "The kettle &lt;b&gt;leaks&lt;/b&gt;." in page and "Morning" in page
    assert "Nothing was found." in browser.get("/chat/", {"q": "zebra"}).content.decode()
    assert browser.get("/chat/", {"q": "a\x00"}).status_code == 400
