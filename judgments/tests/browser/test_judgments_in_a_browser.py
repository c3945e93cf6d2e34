"""The pages of judgments in a real browser: labels by one key, states behind a click, diagrams, axe."""

from __future__ import annotations

import pytest

from judgments.models import Run
from judgments.services import labels
from judgments.services.asking import judge
from synth.services import people
from synth.testing.accessible import problems
from synth.testing.browser import chromium as chromium
from synth.testing.browser import open_admin_as as open_admin_as

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
QUEUE = "/admin/judgments/run/queue/?judgment=weather.rain"
REPORT = "/admin/judgments/run/report/?judgment=weather.rain&days=7"


@pytest.fixture
def operator():
    return people.make_operator(people.ensure("olga"), by=None, door="command")


@pytest.fixture
def runs(judgments, rain):
    """Three, oldest first, each with a state of its own."""
    judgments.answer(rain, 0.9)
    return [judge(rain, {"said": f"state {n}"}, session="api:test").run_id or "" for n in range(3)]


def test_a_queue_is_worked_off_by_single_keys(operator, runs, judgments, rain, open_admin_as):
    page = open_admin_as(operator)
    page.goto(QUEUE)
    seen = []
    for key in ("1", "s", "2"):
        seen.append(page.locator(".judgments-card details").nth(1).text_content())
        with page.expect_navigation():
            page.keyboard.press(key)
    assert [f"state {n}" in text for n, text in zip((2, 1, 0), seen, strict=True)] == [True] * 3
    assert "No run of weather.rain waits" in page.inner_text(".judgments")
    said = {event.run_id: event.value for event in judgments.labels(rain)}
    newest_first = list(Run.objects.order_by("-at").values_list("pk", flat=True))
    assert set(said) == {newest_first[0], newest_first[2]} and len(set(said.values())) == 2
    page.goto(QUEUE)
    page.focus("#judgment")
    page.keyboard.press("1")
    assert len(judgments.labels(rain)) == 2, "a key in a field labels nothing"


def test_what_was_asked_about_shows_only_after_a_click(operator, runs, open_admin_as):
    page = open_admin_as(operator)
    page.goto(f"/admin/judgments/run/{runs[0].partition('/')[2]}/change/")
    state = page.locator("pre", has_text="state 0")
    assert not state.is_visible()
    page.click("text=Show what was asked about")
    assert state.is_visible()


@pytest.mark.parametrize("width", [390, 1440])
def test_pages_fit_and_axe_finds_nothing_wrong(operator, runs, open_admin_as, width):
    labels.label(runs[0], "wet", by="t")
    labels.label(runs[1], "dry", by="t")
    page = open_admin_as(operator, width=width)
    for path in (QUEUE, REPORT, f"/admin/judgments/run/{runs[0].partition('/')[2]}/change/"):
        page.goto(path)
        page.evaluate("() => document.querySelectorAll('.judgments details').forEach(d => { d.open = true })")
        assert problems(page, ".judgments") == [], path
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 0, path
    page.goto(REPORT)
    drawn = page.locator("svg[aria-label='Reliability diagram'] circle").first.bounding_box()
    assert drawn and drawn["width"] > 1 and drawn["height"] > 1
    bars = page.locator("svg[aria-label='Histogram of p'] rect")
    tall = "bars => bars.filter(bar => bar.getBoundingClientRect().height > 1).length"
    assert bars.evaluate_all(tall) == 1, "all three said 0.9"
