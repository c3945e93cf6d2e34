"""Retention by day, then by size; purges that follow quotes and give a receipt."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from judgments.models import JudgmentVersion, LaterAsk, Run, RunEvent
from judgments.services import labels, later, purge, retention
from judgments.services.asking import judge
from synth.rowqueue.deadline import Deadline
from synth.services import agents, dialogues, erase, people


@pytest.fixture
def run_of(judgments, rain):
    judgments.answer(rain, 0.9)

    def make(days_ago: int = 0, label: str = "", session: str = "api:test", state="x", n_bytes=None, **more):
        run_id = judge(rain, state, session=session, **more).run_id or ""
        if label:
            labels.label(run_id, label, by="t")
        at = timezone.now() - timedelta(days=days_ago)
        values = {"at": at, "day": at.astimezone(UTC).date(), **({"n_bytes": n_bytes} if n_bytes else {})}
        Run.objects.filter(pk=run_id.partition("/")[2]).update(**values)
        return run_id

    return make


def ages() -> list[int]:
    today = datetime.now(UTC).date()
    return sorted((today - run.day).days for run in Run.objects.all())


def sweep() -> dict[str, int]:
    return retention.sweep(timezone.now(), Deadline(30))


def test_runs_stay_fourteen_days_and_labelled_ones_a_year(run_of):
    for days in (0, 13, 14, 15, 40):
        run_of(days)
    for days in (15, 364, 367):
        run_of(days, "wet")
    counts = sweep()
    assert ages() == [0, 13, 14, 15, 364]
    assert (counts["old"], counts["labelled"]) == (2, 1)
    assert RunEvent.objects.count() == 2


def test_zero_days_means_for_ever(run_of, monkeypatch):
    monkeypatch.setenv("SESSION_RETENTION_DAYS", "0")
    run_of(3_000)
    run_of(3_000, "wet")
    sweep()
    assert ages() == [3_000, 3_000]


def test_the_oldest_days_go_until_the_rest_fits(run_of, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_RUNS_MAX_MIB", "1")
    for days in (0, 1, 1, 2, 3):
        run_of(days, n_bytes=400 * 1024)
    run_of(3, "wet", n_bytes=400 * 1024)
    assert sweep()["over"] == 4
    assert ages() == [0, 3]


def test_todays_runs_always_stay(run_of, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_RUNS_MAX_MIB", "1")
    for _ in range(3):
        run_of(0, n_bytes=2**20)
    sweep()
    assert ages() == [0, 0, 0]


def test_wordings_without_runs_go(run_of):
    run_of(20)
    assert sweep()["versions"] == 1 and not JudgmentVersion.objects.exists()
    run_of(0)
    assert JudgmentVersion.objects.count() == 1


def test_a_purge_follows_quotes_and_gives_a_receipt(run_of):
    first = run_of(session="dialogue:d1")
    second = run_of(session="cycle:1", state={"seen": first})
    run_of(session="cycle:2", quotes=[second])
    stays = run_of(session="cycle:3")
    labels.label(first, "wet", by="t")
    receipt = purge.purge_sessions(["dialogue:d1"])
    assert receipt == {"judgments.Run": 3, "judgments.RunEvent": 1}
    assert [str(run) for run in Run.objects.all()] == [stays]


@pytest.fixture
def dialogue(db):
    agent = agents.create(slug="wren", name="Wren")
    return dialogues.create(agent, people.ensure("jay"))


def test_deleting_a_dialogue_takes_its_runs_and_says_so(run_of, dialogue, judgments, rain):
    run_of(session=f"dialogue:{dialogue.pk}")
    later.judge_later(rain, "secret", session=f"dialogue:{dialogue.pk}")
    assert Run.objects.get().agent_id == dialogue.agent_id
    receipt = dialogues.delete(dialogue)
    assert (receipt["judgments.Run"], receipt["judgments.LaterAsk"]) == (1, 1)
    assert not Run.objects.exists() and not LaterAsk.objects.exists()


def test_a_deletion_between_claim_and_save_leaves_nothing(judgments, rain, dialogue):
    session = f"dialogue:{dialogue.pk}"
    heard: list[Any] = []
    receipts = []
    later.handler("weather.heard")(heard.append)

    def deleted_meanwhile(state: Any) -> float:
        receipts.append(dialogues.delete(dialogue))
        return 0.9

    judgments.answer(rain, deleted_meanwhile)
    run_id = later.judge_later(rain, "secret", session=session, then="weather.heard")
    assert labels.label(run_id, "wet", by="card")
    judgments.wait()
    assert (receipts[0]["judgments.LaterAsk"], receipts[0]["judgments.RunEvent"]) == (1, 1)
    assert labels.label(run_id, "wet", by="card") is False and not heard
    assert not (Run.objects.exists() or LaterAsk.objects.exists() or RunEvent.objects.exists())


def test_an_ask_of_elsewhere_that_waits_with_its_words_goes_too(judgments, rain, dialogue, run_of):
    first = run_of(session=f"dialogue:{dialogue.pk}")
    judgments.answer(rain, 0.9)
    later.judge_later(rain, {"seen": first}, session="cycle:1")
    assert dialogues.delete(dialogue)["judgments.LaterAsk"] == 1
    judgments.wait()
    assert len(judgments.asks) == 1 and not Run.objects.exists()


def test_an_ask_put_down_as_its_dialogue_went_is_not_asked(judgments, rain, dialogue):
    judgments.answer(rain, 0.9)
    heard: list[Any] = []
    later.handler("weather.heard")(heard.append)
    run_id = later.judge_later(rain, "x", session="cycle:1", then="weather.heard")
    labels.label(run_id, "wet", by="card")
    LaterAsk.objects.update(session_id=f"dialogue:{uuid.uuid4()}")
    judgments.wait()
    assert [result.reason for result in heard] == ["no_session"] and not judgments.asks
    assert LaterAsk.objects.get().state is None and not (Run.objects.exists() or RunEvent.objects.exists())


@pytest.mark.django_db(transaction=True)
def test_an_ask_at_once_saves_nothing_of_a_dialogue_deleted_meanwhile(judgments, rain, dialogue):
    def deleted_meanwhile(state: Any) -> float:
        dialogues.delete(dialogue)
        return 0.9

    judgments.answer(rain, deleted_meanwhile)
    assert judge(rain, "secret", session=f"dialogue:{dialogue.pk}").p() == 0.9
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_deletion_waits_for_the_transaction_that_saves_the_run(judgments, rain, dialogue):
    judgments.answer(rain, 0.9)
    started, receipts, waited = threading.Event(), [], []

    def delete() -> None:
        started.wait(10)
        receipts.append(dialogues.delete(dialogue))
        connection.close()

    other = threading.Thread(target=delete)

    def while_closing(result: Any) -> None:
        started.set()
        for _ in range(100):
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                if cursor.fetchone()[0]:
                    waited.append(True)
                    return
            time.sleep(0.05)

    later.handler("weather.heard")(while_closing)
    later.judge_later(rain, "secret", session=f"dialogue:{dialogue.pk}", then="weather.heard")
    other.start()
    judgments.wait()
    other.join(20)
    assert waited and receipts[0]["judgments.Run"] == 1 and not Run.objects.exists()


def test_pruning_follows_no_quotes(run_of):
    first = run_of(20)
    run_of(0, quotes=[first])
    sweep()
    assert ages() == [0]


def test_a_scratch_dialogue_leaves_no_run(judgments, rain, dialogue):
    judgments.answer(rain, 0.9)
    scratch = dialogues.create(dialogue.agent, dialogue.person, scratch=True)
    result = judge(rain, "x", session=f"dialogue:{scratch.pk}")
    assert result.p() == 0.9 and result.run_id is None and not Run.objects.exists()
    assert later.judge_later(rain, "x", session=f"dialogue:{scratch.pk}") is None
    judgments.wait()
    assert not Run.objects.exists()


def test_a_local_agent_asks_only_local_hosts(judgments, rain, dialogue, monkeypatch):
    from judgments.services import settings

    asked = []
    real = settings.host_for
    judgments.answer(rain, 0.9)

    def noted(row, **more):
        asked.append(more)
        return real(row, **more)

    monkeypatch.setattr(settings, "host_for", noted)
    agents.update(dialogue.agent, {"local_only": True}, by=None, door="command")
    judge(rain, "x", session=f"dialogue:{dialogue.pk}")
    judge(rain, "x", session="api:test")
    assert asked == [{"local_only": True}, {"local_only": False}]


def test_erasing_a_person_takes_runs_with_their_words(run_of, dialogue):
    run_of(session=f"dialogue:{dialogue.pk}", state="anything")
    run_of(state="and then jay said no")
    stays = run_of(state="nothing of the kind")
    receipt = erase.erase_person("jay", at=timezone.now())
    assert receipt.counts["judgments.runs"]["judgments.Run"] == 2
    assert [str(run) for run in Run.objects.all()] == [stays]


def test_erasing_an_agent_takes_its_runs(run_of, dialogue):
    run_of(session="cycle:9", agent=dialogue.agent)
    run_of(session=f"dialogue:{dialogue.pk}")
    receipt = erase.erase_agent("wren", at=timezone.now())
    assert receipt.counts["judgments.runs"] == {"judgments.Run": 2} and not Run.objects.exists()
