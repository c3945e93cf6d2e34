"""The admin pages of judgments: runs with their state behind a click, the queue, the report, settings."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judgments import registry
from judgments.models import JudgmentSetting, Run
from judgments.services import labels
from judgments.services.asking import judge
from synth.services import agents, people


def login(person) -> Client:
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def operator(db: None) -> Client:
    return login(people.make_operator(people.ensure("olga"), by=None, door="command"))


@pytest.fixture
def run_id(judgments, rain):
    judgments.answer(rain, 0.9)
    return judge(rain, {"secret": "<b>words</b>"}, session="api:test").run_id or ""


def test_lists_open_without_a_count_and_without_states(operator, run_id):
    labels.label(run_id, "wet", by="t")
    for model in ("run", "runevent", "judgmentsetting"):
        with CaptureQueriesContext(connection) as seen:
            page = operator.get(f"/admin/judgments/{model}/")
        assert page.status_code == 200 and "secret" not in page.content.decode()
        assert not [query["sql"] for query in seen if "COUNT(" in query["sql"]]
    assert operator.get("/admin/judgments/run/?judgment=weather.rain&origin__exact=live").status_code == 200


def test_a_run_shows_its_state_behind_a_click_and_escaped(operator, run_id):
    labels.label(run_id, "wet", by="t")
    url = f"/admin/judgments/run/{run_id.partition('/')[2]}/change/"
    page = operator.get(url).content.decode()
    hidden = page[page.index("Show what was asked about") :]
    assert "&lt;b&gt;words&lt;/b&gt;" in hidden and "<b>words" not in page
    assert "<details><summary>Show what" in page and "weather:t" in page
    assert operator.post(url, {"value": "x"}).status_code == 403
    assert operator.get("/admin/judgments/run/nonsense/change/").status_code == 404


def test_the_queue_labels_with_a_button_and_goes_on(operator, run_id, judgments, rain):
    judge(rain, "newer", session="api:test")
    page = operator.get("/admin/judgments/run/queue/?judgment=weather.rain").content.decode()
    assert 'data-key="1"' in page and "queue.js" in page and "newer" in page and ">dry" in page
    newest = Run.objects.order_by("-at").first()
    assert newest is not None
    answer = operator.post(f"/admin/judgments/run/queue/{newest.pk}/", {"value": "wet"})
    assert answer.status_code == 302 and f"after={newest.pk}" in answer.headers["Location"]
    (event,) = judgments.labels(rain)
    assert (event.value, event.by) == ("wet", "weather:olga")
    page = operator.get(answer.headers["Location"]).content.decode()
    assert "secret" in page
    older = Run.objects.order_by("at").first()
    assert older is not None
    skipped = operator.post(f"/admin/judgments/run/queue/{older.pk}/", {})
    assert "waits for a label" in operator.get(skipped.headers["Location"]).content.decode()
    assert len(judgments.labels(rain)) == 1
    assert operator.get(f"/admin/judgments/run/queue/{older.pk}/").status_code == 405


def test_the_queue_offers_only_options_that_can_be_labels_and_says_them_to_the_byte(operator, judgments):
    names = ["x" * 201, "  ", " yes ", "yes", "<b>"]
    with registry.isolated():
        registry.declare("shop.pick", questions={"q": {"type": "choice", "criteria": dict.fromkeys(names)}})
        judgments.mode("shop.pick", "on")
        run_id = judge("shop.pick", "which", session="api:test").run_id or ""
    page = operator.get("/admin/judgments/run/queue/?judgment=shop.pick")
    assert [one["value"] for one in page.context["choices"]] == [" yes ", "yes", "<b>"]
    url = f"/admin/judgments/run/queue/{run_id.partition('/')[2]}/"
    operator.post(url, {"value": " yes ", "question": "q"})
    assert [event.value for event in judgments.labels("shop.pick")] == [" yes "]


def test_a_report_draws_both_diagrams(operator, run_id):
    labels.label(run_id, "wet", by="t")
    page = operator.get("/admin/judgments/run/report/?judgment=weather.rain&days=7").content.decode()
    assert "<rect" in page and "<circle" in page and "accuracy 1.000" in page
    assert "said 0.90, came true 1.00, 1 answers" in page
    assert operator.get("/admin/judgments/run/report/").status_code == 200
    unknown = operator.get("/admin/judgments/run/report/?judgment=weather.rian")
    assert "Did you mean" in unknown.content.decode()


def test_settings_are_changed_through_the_service(operator, run_id):
    url = "/admin/judgments/judgmentsetting/weather.rain/change/"
    assert operator.get(url).status_code == 200
    assert operator.post(url, {"mode": "audit", "host": "", "model": "m", "n_orders": 3}).status_code == 302
    row = JudgmentSetting.objects.get(name="weather.rain")
    assert (row.mode, row.model, row.n_orders) == ("audit", "m", 3)
    bad = operator.post(url, {"mode": "on", "host": "nowhere://x", "model": "", "n_orders": 1}, follow=True)
    assert "address" in bad.content.decode()
    assert JudgmentSetting.objects.get(name="weather.rain").mode == "audit"
    added = "/admin/judgments/judgmentsetting/add/"
    assert "approvals.allow" in operator.get(added).content.decode()
    assert (
        operator.post(added, {"name": "approvals.allow", "mode": "audit", "n_orders": 1}).status_code == 302
    )
    assert JudgmentSetting.objects.get(name="approvals.allow").mode == "audit"


def test_a_name_no_database_takes_is_as_unknown_as_any(operator):
    page = operator.get("/admin/judgments/run/queue/?judgment=a%00b")
    assert page.status_code == 200 and page.context["run"] is None
    assert operator.get("/admin/judgments/judgmentsetting/a%00b/change/").status_code == 302


def test_trainers_see_nothing_of_it(db, run_id):
    tara = people.ensure("tara")
    agents.create(slug="wren", name="Wren", trainers=[tara])
    tara.refresh_from_db()
    trainer = login(tara)
    for path in ("run/", "run/queue/", "run/report/", "judgmentsetting/", "runevent/"):
        assert trainer.get(f"/admin/judgments/{path}").status_code == 403
