"""REST of judgments: settings for operators, asks and labels for keys; others' runs are not there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.utils.timezone import now
from rest_framework.test import APIClient

from judgments.models import JudgmentSetting, Run, RunEvent
from judgments.services import purge
from judgments.services.asking import judge
from synth.services import agents, dialogues, keys, people

IdempotentAnswer: Any = apps.get_model("synth", "IdempotentAnswer")


def client(role: str, name: str, **more: Any) -> APIClient:
    person = people.ensure(name)
    if role == "operator":
        person = people.make_operator(person, by=None, door="command")
    made = APIClient()
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.issue(person, role=role, **more).plain}")
    return made


@pytest.fixture
def operator(no_limits, judgments) -> APIClient:
    return client("operator", "olga")


@pytest.fixture
def app(no_limits, judgments) -> APIClient:
    return client("app", "frontend", scopes=["systemone"])


def test_an_operator_sees_and_sets_every_judgment(operator, rain):
    names = [one["name"] for one in operator.get("/api/judgments/").json()]
    assert rain in names and "approvals.allow" in names
    url = f"/api/judgments/{rain}/"
    assert operator.get(url).json()["mode"] == "off"
    changes = {"mode": "audit", "host": "http://10.0.0.7:8080", "model": "m"}
    answer = operator.patch(url, changes, format="json")
    assert answer.status_code == 200 and answer.json()["host"] == changes["host"]
    assert JudgmentSetting.objects.get(name=rain).mode == "audit"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"mode": "loud"}, 400, "mode"),
        ({"host": "ftp://x"}, 400, "host"),
        ({"host": "http://user:pw@x"}, 400, "host"),
        ({"colour": "red"}, 400, "colour"),
        ({"mode": None}, 400, "mode"),
    ],
)
def test_bad_settings_are_refused_by_name(operator, rain, body, status, field):
    answer = operator.patch(f"/api/judgments/{rain}/", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)


def test_a_core_judgment_takes_no_host_of_its_own(operator):
    url = "/api/judgments/approvals.allow/"
    for body in ({"host": "local"}, {"model": "m"}):
        answer = operator.patch(url, body, format="json")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "core_judgment")
    assert operator.patch(url, {"mode": "audit", "host": ""}, format="json").status_code == 200


def test_an_unknown_judgment_is_404_with_the_nearest(operator, rain):
    answer = operator.get("/api/judgments/weather.rian/")
    assert answer.status_code == 404 and rain in answer.json()["error"]["message"]
    assert operator.get("/api/judgments/weather.rian/report/").status_code == 404


def test_an_app_asks_and_labels_its_own_runs(app, judgments, rain):
    judgments.answer(rain, 0.9)
    body = app.post(f"/api/judgments/{rain}/ask/", {"state": {"sky": "grey"}}, format="json").json()
    assert (body["p"], body["mode"], body["audit"], body["reason"]) == (0.9, "on", False, None)
    run = f"/api/judgments/runs/{body['run_id']}/"
    assert app.get(run).json()["state"] == {"sky": "grey"}
    assert app.post(f"{run}labels/", {"value": "wet", "by": "card"}, format="json").json() == {"saved": True}
    assert app.post(f"{run}acted/", {"what": "umbrella"}, format="json").status_code == 201
    events = app.get(run).json()["events"]
    assert [(event["kind"], event["value"]) for event in events] == [("label", "wet"), ("acted", "umbrella")]
    assert events[0]["by"].startswith("weather:key-") and events[0]["by"].endswith(":card")
    listed = app.get(f"/api/judgments/runs/?judgment={rain}").json()["results"]
    assert [one["id"] for one in listed] == [body["run_id"]] and "state" not in listed[0]
    report = app.get(f"/api/judgments/{rain}/report/?days=1").json()
    assert report["groups"][0]["questions"]["q"]["labels"] == {"wet": 1}


def test_other_peoples_runs_are_not_there(app, operator, judgments, rain):
    judgments.answer(rain, 0.9)
    run_id = judge(rain, "x", session="cycle:1").run_id
    url = f"/api/judgments/runs/{run_id}/"
    assert app.get(url).status_code == 404
    assert app.post(f"{url}labels/", {"value": "wet"}, format="json").status_code == 404
    assert app.get("/api/judgments/runs/").json()["results"] == []
    assert app.get(f"/api/judgments/{rain}/report/").json()["groups"] == []
    assert operator.get(f"/api/judgments/runs/{run_id}/").status_code == 200
    assert len(operator.get("/api/judgments/runs/?session_id=cycle:1").json()["results"]) == 1
    assert not RunEvent.objects.exists()


def test_an_app_asks_in_no_session_of_others(app, operator, judgments, rain):
    judgments.answer(rain, 0.9)
    wren = agents.create(slug="wren", name="Wren")
    theirs = dialogues.create(wren, people.ensure("pia"))
    url = f"/api/judgments/{rain}/ask/"
    for session in (f"dialogue:{theirs.pk}", f"dialogue:{uuid4()}", "dialogue:x", "cycle:1", "decision:1"):
        answer = app.post(url, {"state": "x", "session_id": session}, format="json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "session_id"), session
    assert not Run.objects.exists()
    body = {"state": "x", "session_id": f"dialogue:{theirs.pk}"}
    assert app.post(url, body, format="json", HTTP_X_PERSON="pia").json()["run_id"]
    assert operator.post(url, body, format="json").json()["run_id"]
    assert app.post(url, {"state": "x", "session_id": "api:mine"}, format="json").json()["run_id"]


@pytest.mark.parametrize("role", ["trainer", "person"])
def test_others_neither_ask_nor_set(no_limits, judgments, rain, role):
    judgments.answer(rain, 0.9)
    other = client(role, "pia")
    assert other.get("/api/judgments/").status_code == 403
    assert other.patch(f"/api/judgments/{rain}/", {"mode": "on"}, format="json").status_code == 403
    assert other.post(f"/api/judgments/{rain}/ask/", {"state": "x"}, format="json").status_code == 403
    assert other.get("/api/judgments/runs/").json()["results"] == []
    assert APIClient().get("/api/judgments/runs/").status_code == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "state"), ({"state": 7}, "state"), ({"state": None}, "state"),
     ({"state": "x", "session_id": "here"}, "session_id")],
)  # fmt: skip
def test_bad_asks_are_refused_by_name(app, judgments, rain, body, field):
    judgments.answer(rain, 0.9)
    answer = app.post(f"/api/judgments/{rain}/ask/", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert not Run.objects.exists()


def test_should_have_asked_is_said_once(app, judgments, rain):
    judgments.answer(rain, 0.9)
    run_id = app.post(f"/api/judgments/{rain}/ask/", {"state": "x"}, format="json").json()["run_id"]
    url = f"/api/judgments/runs/{run_id}/labels/"
    assert app.post(url, {"value": "should_have_asked"}, format="json").status_code == 201
    again = app.post(url, {"value": "should_have_asked"}, format="json")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_labelled")
    assert app.post(url, {"value": "x" * 201}, format="json").status_code == 400


def test_a_label_names_a_question_of_the_run(app, judgments, many):
    judgments.answer(many, 0.9, question="q")
    run_id = app.post(f"/api/judgments/{many}/ask/", {"state": "x"}, format="json").json()["run_id"]
    url = f"/api/judgments/runs/{run_id}/labels/"
    wrong = app.post(url, {"value": "yes", "question": "kinds"}, format="json")
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "question")
    assert not RunEvent.objects.exists()
    assert app.post(url, {"value": "a", "question": "kind"}, format="json").status_code == 201


def test_a_reason_is_an_answer_too(app, judgments, rain):
    body = app.post(f"/api/judgments/{rain}/ask/", {"state": "x"}, format="json").json()
    assert (body["reason"], body["answers"], body["run_id"], body["p"]) == ("off", {}, None, None)


def test_runs_cannot_be_changed(operator, judgments, rain):
    judgments.answer(rain, 0.9)
    run_id = judge(rain, "x", session="cycle:1").run_id
    for method in ("put", "patch", "delete"):
        assert getattr(operator, method)(f"/api/judgments/runs/{run_id}/").status_code == 405


def test_a_by_that_cannot_be_kept_whole_names_its_field(app, judgments, rain):
    judgments.answer(rain, 0.9)
    run_id = app.post(f"/api/judgments/{rain}/ask/", {"state": "x"}, format="json").json()["run_id"]
    url = f"/api/judgments/runs/{run_id}/labels/"
    answer = app.post(url, {"value": "wet", "by": "x" * 195}, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "by")
    assert not judgments.labels(rain)


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u2003"])
def test_a_blank_label_or_deed_names_its_field(app, judgments, rain, blank):
    judgments.answer(rain, 0.9)
    run_id = app.post(f"/api/judgments/{rain}/ask/", {"state": "x"}, format="json").json()["run_id"]
    for path, body in (("labels", {"value": blank}), ("acted", {"what": blank})):
        answer = app.post(f"/api/judgments/runs/{run_id}/{path}/", body, format="json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, *body)


def test_an_ask_sent_again_under_its_key_is_asked_once(app, judgments, rain):
    judgments.answer(rain, 0.9)
    url, key = f"/api/judgments/{rain}/ask/", {"Idempotency-Key": "k1"}
    first = app.post(url, {"state": "x"}, format="json", headers=key)
    again = app.post(url, {"state": "x"}, format="json", headers=key)
    assert first.json() == again.json() and again.headers["Idempotency-Replayed"] == "true"
    assert Run.objects.count() == 1
    other = app.post(url, {"state": "y"}, format="json", headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")


def test_an_ask_whose_process_died_is_asked_again_after_a_while(app, judgments, rain):
    judgments.answer(rain, 0.9)
    url, key = f"/api/judgments/{rain}/ask/", {"Idempotency-Key": "k1"}
    app.post(url, {"state": "x"}, format="json", headers=key)
    IdempotentAnswer.objects.update(status=0, body=None)
    answer = app.post(url, {"state": "x"}, format="json", headers=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "request_running")
    IdempotentAnswer.objects.update(at=now() - timedelta(seconds=61))
    assert app.post(url, {"state": "x"}, format="json", headers=key).status_code == 200
    assert Run.objects.count() == 2


def test_a_refused_ask_leaves_its_key_free(app, judgments, rain):
    url, key = f"/api/judgments/{rain}/ask/", {"Idempotency-Key": "k1"}
    assert app.post(url, {"state": 7}, format="json", headers=key).status_code == 400
    assert not IdempotentAnswer.objects.exists()
    assert app.post(url, {"state": "x"}, format="json", headers=key).status_code == 200


def test_a_purge_takes_the_answers_kept_under_keys(app, judgments, rain):
    judgments.answer(rain, 0.9)
    url = f"/api/judgments/{rain}/ask/"
    for n, session in enumerate(("api:one", "api:two")):
        body = {"state": "x", "session_id": session}
        app.post(url, body, format="json", headers={"Idempotency-Key": f"k{n}"})
    receipt = purge.purge_sessions(["api:one"])
    assert receipt["synth.IdempotentAnswer"] == 1
    assert IdempotentAnswer.objects.get().key == "k1"
