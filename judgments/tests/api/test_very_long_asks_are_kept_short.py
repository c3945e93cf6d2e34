"""What a client asks at length is answered whole and kept cut; whoever reads such a run later still can."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import now

from judgments.models import JudgmentVersion, Run
from judgments.services import exporting, labels, replay, reports
from judgments.tests.api.conftest import BODY, NOUL
from synth.services import people

LONG = "the name of a very long option, " * 40
NAMES = [f"{n} {LONG}" for n in range(255)]
CHOICE = {"type": "choice", "instructions": "w" * 5_000, "criteria": {name: "d" * 3_000 for name in NAMES}}
SCORE = {"type": "score", "instructions": ["x"] * 30_000, "criteria": ["low " * 50, "middle " * 90, "high"]}


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.fixture
def run(served, wire) -> Run:
    asked = {**BODY, "questions": {"first": CHOICE, "s": SCORE, "n": NOUL}}
    served.answer("served.systemone", 0.8, question="n")
    reply = wire.ask(asked).json()
    assert list(reply["answers"]["first"]["probabilities"]) == NAMES, "the client gets all of it"
    assert served.asks[0].as_wire()["questions"] == asked["questions"]
    return Run.objects.select_related("version").get()


def test_a_very_long_ask_is_kept_cut_and_says_so(run):
    assert size(run.version.questions) <= 64 * 1024 and size(run.answers) <= 16 * 1024
    assert run.is_truncated and run.n_bytes <= 82 * 1024
    assert list(run.version.questions) == ["first", "s", "n"] and set(run.answers) == {"first", "s", "n"}
    assert all(one["truncated"] for one in (*run.version.questions.values(), *run.answers.values()))
    assert (
        run.answers["n"]["noul"] == 0.8 and run.version.questions["n"]["instructions"] == NOUL["instructions"]
    )
    assert run.answers["first"]["choice"].startswith(NAMES[0][:150])
    assert len(run.version.questions["s"]["criteria"]) == 3
    assert run.state == BODY["state"]


def test_the_same_long_wording_is_kept_once_and_marks_every_run(run, wire):
    wire.ask({**BODY, "questions": {"first": CHOICE, "s": SCORE, "n": NOUL}})
    assert JudgmentVersion.objects.count() == 1
    newer = Run.objects.exclude(pk=run.pk).get()
    assert newer.is_truncated and newer.n_bytes < 20 * 1024


def test_it_is_labelled_and_reported_without_a_wrong_number(run, key, wire):
    for question, value in (("first", NAMES[3][:200]), ("s", "high"), ("n", "true")):
        assert labels.label(str(run), value, by="t", question=question)
    (group,) = reports.report("served.systemone", days=1, at=now())["groups"]
    assert list(group["questions"]) == ["first", "s", "n"]
    assert sum(group["questions"]["n"]["histogram"]) == 1
    assert sum(group["questions"]["first"]["histogram"]) == 0, "without its probabilities nobody knows"
    url = f"/api/judgments/runs/served.systemone/{run.pk}/labels/"
    reply = wire.raw(b'{"value": "x", "question": "one that has no room"}', url)
    assert reply.status_code == 201, reply.content


def test_it_is_neither_asked_again_nor_exported(run, served, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_HOST", "scripted")
    labels.label(str(run), "true", by="t", question="n")
    done = replay.replay("served.systemone")
    assert (done.n_asked, done.n_truncated, len(served.asks)) == (0, 1, 1)
    assert list(exporting.labelled("served.systemone")) == []


def test_the_admin_site_shows_it(run):
    client = Client()
    olga = people.make_operator(people.ensure("olga"), by=None, door="command")
    client.force_login(olga, backend="django.contrib.auth.backends.ModelBackend")
    for url in (f"run/{run.pk}/change/", "run/", "queue/?judgment=served.systemone"):
        page = client.get(f"/admin/judgments/{url}".replace("judgments/queue", "judgments/run/queue"))
        assert page.status_code == 200, url


def test_thousands_of_questions_are_kept_as_far_as_there_is_room(served, wire):
    questions = {f"question {n}": {**NOUL, "instructions": f"Is it {n}?"} for n in range(3_000)}
    reply = wire.ask({**BODY, "questions": questions}).json()
    run = Run.objects.get()
    assert len(reply["answers"]) == 3_000 and run.is_truncated
    assert 300 < len(run.version.questions) < 3_000 and size(run.version.questions) <= 64 * 1024
    assert list(run.version.questions)[:3] == ["question 0", "question 1", "question 2"]


def test_what_is_within_the_limits_is_kept_as_it_is(served, wire):
    criteria = {f"option {n}": "described in a few words" for n in range(255)}
    asked = {"q": {"type": "choice", "instructions": "z" * 2_000, "criteria": criteria}}
    wire.ask({**BODY, "questions": asked})
    run = Run.objects.get()
    assert not run.is_truncated and run.version.questions == asked
    assert run.answers and len(run.answers["q"]["probabilities"]) == 255


def test_a_cut_name_is_the_same_in_the_answers_so_that_its_label_counts(served, wire):
    names = [f"{n} {'n' * 240}" for n in range(20)]
    wire.ask({**BODY, "questions": {"q": {"type": "choice", "criteria": dict.fromkeys(names, "d" * 4_000)}}})
    run = Run.objects.select_related("version").get()
    kept = run.version.questions["q"]["criteria"]
    assert run.is_truncated and run.answers is not None
    assert set(run.answers["q"]["probabilities"]) == set(kept)
    assert labels.label(str(run), run.answers["q"]["choice"], by="t", question="q")
    (group,) = reports.report("served.systemone", days=1, at=now())["groups"]
    assert group["questions"]["q"]["calibration"]["accuracy"] == 1
