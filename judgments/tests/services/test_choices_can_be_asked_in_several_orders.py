"""With `n_orders` a choice is asked in several orders of its options in one ask, and the answers averaged."""

from __future__ import annotations

from typing import Any

import pytest

from judgments import orders, registry
from judgments.backends import scripted
from judgments.models import Run
from judgments.questions import Ask, Question
from judgments.services import settings
from judgments.services.asking import judge
from synth.errors import Invalid

NAME = "weather.pick"
S = "api:test"
CHOICE = {"type": "choice", "criteria": {"sun": None, "rain": None, "snow": None}}
NOUL = {"type": "noul", "instructions": "Is it cold?"}


@pytest.fixture
def pick(judgments: Any) -> Any:
    """The judgment in four orders, asked of a host that favours whatever stands first."""
    with registry.isolated():
        registry.declare(NAME, questions={"q": CHOICE, "cold": NOUL})
        judgments.mode(NAME, "on")
        settings.change(NAME, {"n_orders": 4}, by=None, door="command")
        yield judgments


def first_wins(asked: list[Ask]) -> Any:
    def answer(ask: Ask) -> dict[str, Any]:
        asked.append(ask)
        found: dict[str, Any] = {}
        for question in ask.questions:
            if question.type == "noul":
                found[question.id] = {"type": "noul", "noul": 0.25}
                continue
            shares = dict(zip(question.options, [0.6, 0.3, 0.1], strict=True))
            found[question.id] = {
                "type": "choice", "choice": question.options[0], "probabilities": shares, "confidence": 0.4,
            }  # fmt: skip
        return found

    return answer


def test_one_ask_has_all_orders_and_the_mean_is_what_comes_back(pick):
    asked: list[Ask] = []
    with scripted.script(first_wins(asked)):
        result = judge(NAME, "grey", session=S)
    (ask,) = asked
    wordings = [q.options for q in ask.questions if q.type == "choice"]
    assert len(wordings) == len(set(wordings)) == 4
    assert [q.id for q in ask.questions] == ["q", "q~2", "q~3", "q~4", "cold"]
    assert set(result.answers) == {"q", "cold"} and result.p("cold") == 0.25
    shares = result.answers["q"].probabilities
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares == pytest.approx(
        {
            name: sum([0.6, 0.3, 0.1][order.index(name)] for order in wordings) / 4
            for name in CHOICE["criteria"]
        }
    )


def test_the_run_keeps_the_mean_and_how_far_the_order_moved_it(pick):
    with scripted.script(first_wins([])):
        result = judge(NAME, "grey", session=S)
    run = Run.objects.get()
    answers: Any = run.answers
    assert set(answers) == {"q", "cold"} == set(run.version.questions)
    kept = answers["q"]
    assert kept["probabilities"] == pytest.approx(dict(result.answers["q"].probabilities))
    assert kept["x_orders"] == 4 and kept["x_instability"] > 0.1 and 0 < kept["x_flips"] < 1
    assert "x_orders" not in answers["cold"]


def test_an_order_without_an_answer_fails_the_ask(pick):
    def forgets(ask: Ask) -> dict[str, Any]:
        found: dict[str, Any] = first_wins([])(ask)
        del found["q~3"]
        return found

    with scripted.script(forgets):
        result = judge(NAME, "grey", session=S)
    assert (result.reason, result.failure) == ("failed", "bad_answer")
    assert Run.objects.get().failure == "bad_answer"


def test_a_flat_answer_flips_in_no_order():
    found = orders.average([{"a": 0.5, "b": 0.5}, {"b": 0.5, "a": 0.5}])
    assert (found.flips, found.instability) == (0, 0)


def test_by_default_a_choice_is_asked_once(pick):
    settings.change(NAME, {"n_orders": 1}, by=None, door="command")
    asked: list[Ask] = []
    with scripted.script(first_wins(asked)):
        judge(NAME, "grey", session=S)
    assert [q.id for q in asked[0].questions] == ["q", "cold"]
    kept: Any = Run.objects.get().answers
    assert "x_orders" not in kept["q"]


def test_a_copy_never_takes_an_id_that_is_asked_already():
    choice = Question("q", "choice", None, {"a": None, "b": None})
    other = Question("q~2", "choice", None, {"c": None, "d": None})
    asked, copies = orders.spread([choice, other], 2)
    assert len({question.id for question in asked}) == len(asked) == 4
    assert copies == {"q": ["q", "q~2~"], "q~2": ["q~2", "q~2~2"]}


@pytest.mark.parametrize("value", [0, 9, -1, True, "2", 2.0, None])
def test_other_numbers_of_orders_are_refused(pick, value):
    with pytest.raises(Invalid) as caught:
        settings.change(NAME, {"n_orders": value}, by=None, door="command")
    assert caught.value.field == "n_orders"
