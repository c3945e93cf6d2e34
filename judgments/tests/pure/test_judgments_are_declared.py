"""Names, reserved words, questions at start-up and at each ask, labels, and what other apps notice."""

import pytest

from judgments import digests, registry
from judgments.registry import BadDeclaration, Undeclared

NOUL = {"type": "noul", "instructions": "Is it?"}


@pytest.fixture(autouse=True)
def _alone():
    with registry.isolated():
        yield


def test_a_declaration_is_found_by_its_full_name():
    made = registry.declare("shop.refund", questions={"q": NOUL}, positive="kept", negative=["undone"])
    assert registry.get("shop.refund") is made
    assert (made.app, made.positive, made.negative) == ("shop", ("kept",), ("undone",))
    assert made in registry.all_declared()


@pytest.mark.parametrize(
    "name", ["shop", "Shop.x", "shop.", ".x", "shop x.y", "shop.é", "", "a." + "b" * 200]
)
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(BadDeclaration, match="not a full name"):
        registry.declare(name, questions={"q": NOUL})


@pytest.mark.parametrize("name", ["approvals.x", "context.x", "guardrails.x", "toolkit.x", "shop.replay"])
def test_names_of_the_core_are_for_the_core(name):
    with pytest.raises(BadDeclaration, match="word of the core"):
        registry.declare(name, questions={"q": NOUL})
    assert registry.declare(name, questions={"q": NOUL}, core=True).is_core


@pytest.mark.parametrize(
    "questions",
    [
        {"ok": NOUL, "broken one": {"type": "score", "criteria": ["x"]}},
        {"broken one": {"type": "noul", "instructions": {1, 2}}},
        {"broken one": {"type": "choice", "criteria": {"a": float("nan")}}},
        {"broken one": None},
    ],
)
def test_a_bad_question_is_named(questions):
    with pytest.raises(BadDeclaration, match="broken one"):
        registry.declare("shop.x", questions=questions)
    with pytest.raises(Undeclared):
        registry.get("shop.x")


@pytest.mark.parametrize("questions", [{}, [], None, "text", {1: NOUL}])
def test_questions_are_a_map(questions):
    with pytest.raises(BadDeclaration):
        registry.declare("shop.x", questions=questions)


def test_a_callable_is_checked_at_each_ask():
    def questions(state):
        return {"pick": {"type": "choice", "criteria": dict.fromkeys(state["options"])}}

    made = registry.declare("shop.pick", questions=questions)
    assert made.questions_for({"options": ["b", "a"]})[0].options == ("b", "a")
    with pytest.raises(BadDeclaration, match="pick"):
        made.questions_for({"options": []})


def test_what_a_caller_changes_later_changes_no_declaration():
    criteria = {"a": None, "b": None}
    made = registry.declare("shop.x", questions={"q": {"type": "choice", "criteria": criteria}})
    criteria.clear()
    assert made.questions_for(None)[0].options == ("a", "b")
    assert registry.declare("shop.y", questions={"q": {"type": "score", "criteria": ("l", "h")}}).questions


def test_labels_are_short_texts_that_mean_one_thing():
    for labels in (
        {"positive": "x" * 201},
        {"negative": [1]},
        {"positive": ""},
        {"positive": "a", "negative": "a"},
        {"positive": None},
        {"negative": 5},
        {"positive": ["fine", 5]},
        {"positive": "a\x00b"},
        {"negative": "half \ud800"},
    ):
        with pytest.raises(BadDeclaration):
            registry.declare("shop.x", questions={"q": NOUL}, **labels)
    with pytest.raises(BadDeclaration, match="shared_host"):
        registry.declare("shop.x", questions={"q": NOUL}, shared_host="wait")


def test_the_same_declaration_twice_is_one_and_another_is_refused():
    registry.declare("shop.x", questions={"q": NOUL})
    registry.declare("shop.x", questions={"q": NOUL})
    with pytest.raises(BadDeclaration, match="twice"):
        registry.declare("shop.x", questions={"other": NOUL})


def test_an_unknown_name_is_answered_with_the_nearest():
    registry.declare("shop.refund", questions={"q": NOUL})
    for typed in ("shop.refunds", "refund"):
        with pytest.raises(Undeclared, match="Did you mean shop.refund"):
            registry.get(typed)
    with pytest.raises(Undeclared) as caught:
        registry.get("zzz")
    assert caught.value.suggestion is None


def test_one_apps_bad_declaration_leaves_the_others_alone(tmp_path, monkeypatch):
    line = "from judgments import registry\nregistry.declare({name!r}, questions={questions!r})\n"
    for app, questions in (("goodapp", {"q": NOUL}), ("badapp", {"the id": {}})):
        (tmp_path / f"{app}.py").write_text(line.format(name=f"{app}.x", questions=questions))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not registry.load("badapp")
    assert registry.load("goodapp")
    assert registry.get("goodapp.x")
    assert [(p.module, "the id" in p.message) for p in registry.problems()] == [("badapp", True)]


def test_digests_follow_the_order_of_options_and_levels():
    def pair(criteria, kind="choice", instructions="?"):
        made = registry.check_questions(
            "a.b", {"q": {"type": kind, "instructions": instructions, "criteria": criteria}}
        )
        return digests.pair(made)

    one, other = pair({"a": None, "b": None}), pair({"b": None, "a": None})
    assert one[0] == other[0] and one[1] != other[1]
    assert pair({"a": None, "b": None}, instructions="!")[0] != one[0]
    assert pair(["a", "b"], "score") != pair(["b", "a"], "score")
    assert all(len(digest) == 64 for digest in one)
    assert digests.of("\ud800") != digests.of("?")
