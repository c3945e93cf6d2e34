"""Labels, deeds and gates are added to a run later and never edited."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection

from judgments.models import Run, RunEvent
from judgments.services import gates, labels, later
from judgments.services.asking import judge
from synth.errors import Conflict


@pytest.fixture
def run_id(judgments, rain):
    judgments.answer(rain, 0.9)
    return judge(rain, "x", session="api:test").run_id


def test_a_label_is_kept_with_who_said_it(judgments, run_id):
    assert labels.label(run_id, "wet", by="card", strength="weak", question="q")
    (event,) = judgments.labels("weather.rain")
    assert (event.value, event.by, event.strength, event.question) == ("wet", "weather:card", "weak", "q")
    assert Run.objects.get().n_labels == 1


def test_a_run_that_was_not_saved_needs_no_check(db):
    assert labels.label(None, "wet", by="card") is False
    assert labels.acted(None, "opened") is False
    assert gates.save(None, rule="", rule_listed=False, self_protect_refused=False, threshold=0.9) is False


@pytest.mark.parametrize("value", ["", " ", "x" * 201, "a\x00b", 7])
def test_a_value_is_a_short_text(run_id, value):
    with pytest.raises(ValueError):
        labels.label(run_id, value, by="card")
    with pytest.raises(ValueError):
        labels.acted(run_id, value)


def test_another_apps_run_is_refused(run_id):
    with pytest.raises(ValueError, match="not a run of growth"):
        labels.label(run_id, "wet", by="card", app="growth")
    with pytest.raises(ValueError, match="no run id"):
        labels.label("weather.rain", "wet", by="card")
    with pytest.raises(ValueError, match="strength"):
        labels.label(run_id, "wet", by="card", strength="huge")


def test_some_labels_are_said_once(run_id):
    assert labels.label(run_id, "should_have_asked", by="user", is_once=True)
    with pytest.raises(Conflict) as caught:
        labels.label(run_id, "should_have_asked", by="user", is_once=True)
    assert caught.value.code == "already_labelled"
    assert labels.label(run_id, "deny", by="user", is_once=True)


def test_deeds_and_gates_stand_beside_labels(judgments, run_id):
    assert labels.acted(run_id, "auto_allowed", by="approvals")
    assert gates.save(run_id, rule="reminder_*", rule_listed=True, self_protect_refused=False, threshold=0.95)
    kinds: dict[str, Any] = dict(RunEvent.objects.values_list("kind", "data"))
    assert kinds["gates"]["threshold"] == 0.95 and kinds["gates"]["rule_listed"] is True
    assert judgments.acted("weather.rain")[0].value == "auto_allowed"
    assert Run.objects.get().n_labels == 0


def test_a_label_before_its_slow_run_is_joined(judgments, rain):
    judgments.answer(rain, 0.9)
    early = later.judge_later(rain, "x", session="api:test")
    assert labels.label(early, "wet", by="card")
    judgments.wait()
    run = Run.objects.get()
    assert (str(run), run.n_labels) == (early, 1)


def test_a_label_of_a_run_that_is_gone_is_not_kept(judgments, run_id):
    Run.objects.all().delete()
    assert labels.label(run_id, "wet", by="card") is False
    assert labels.acted(f"weather.rain/{uuid.uuid4()}", "opened") is False
    assert not RunEvent.objects.exists()


def test_nothing_is_kept_when_saving_is_off(run_id, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_RUNS", "off")
    assert labels.label(run_id, "wet", by="card") is False


def test_an_id_with_another_judgments_name_marks_nothing(judgments, rain, run_id):
    key = run_id.partition("/")[2]
    for misnamed in (f"growth.decision/{key}", f"weather.other/{key}"):
        app = misnamed.partition(".")[0]
        with pytest.raises(ValueError, match="another name"):
            labels.label(misnamed, "wet", by="card", app=app)
        with pytest.raises(ValueError, match="another name"):
            labels.acted(misnamed, "opened", app=app)
    early = later.judge_later(rain, "y", session="api:test")
    with pytest.raises(ValueError, match="another name"):
        labels.label("growth.decision/" + str(early).partition("/")[2], "wet", by="card", app="growth")
    assert not RunEvent.objects.exists() and Run.objects.get().n_labels == 0


@pytest.mark.parametrize("by", ["x" * 193, "a\x00b", "half \ud800", 7])
def test_who_said_it_is_a_short_text_too(run_id, by):
    with pytest.raises(ValueError, match="by"):
        labels.label(run_id, "wet", by=by)
    with pytest.raises(ValueError, match="by"):
        labels.acted(run_id, "opened", by=by)
    assert not RunEvent.objects.exists()


def test_who_said_it_may_fill_the_column(judgments, run_id):
    assert labels.label(run_id, "wet", by="x" * 192)
    assert judgments.labels("weather.rain")[0].by == "weather:" + "x" * 192


@pytest.mark.django_db(transaction=True)
def test_two_at_once_before_the_run_is_there_are_one(judgments, rain, monkeypatch):
    judgments.answer(rain, 0.9)
    early = later.judge_later(rain, "x", session="api:test")
    both = threading.Barrier(2, timeout=2)
    save = RunEvent.save

    def together(row: RunEvent, **more: Any) -> None:
        # Whoever got past the check waits for the other; where only one gets past, it waits in vain.
        with suppress(threading.BrokenBarrierError):
            both.wait()
        save(row, **more)

    monkeypatch.setattr(RunEvent, "save", together)

    def say(_: int) -> str:
        try:
            return str(labels.label(early, labels.SHOULD_HAVE_ASKED, by="user", is_once=True))
        except Conflict as refused:
            return refused.code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(say, range(2))) == ["True", "already_labelled"]
    assert RunEvent.objects.count() == 1
