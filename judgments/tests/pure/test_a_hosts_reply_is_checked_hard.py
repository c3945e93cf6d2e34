"""Each rule a reply must keep, by one reply that breaks it; and what is still let through."""

import copy
import math
from typing import Any

import pytest

from judgments.answers import BadAnswer, read_reply, read_usage
from judgments.questions import Ask, Question

ASK = Ask(
    "m",
    "s",
    (
        Question("n", "noul", "?"),
        Question("c", "choice", "?", {"a": None, "b": None, "c": None}),
        Question("s", "score", "?", ["low", "mid", "high"]),
    ),
)
GOOD: dict[str, Any] = {
    "model": "host-1",
    "answers": {
        "n": {"type": "noul", "noul": 0.9},
        "c": {
            "type": "choice",
            "choice": "b",
            "probabilities": {"a": 0.2, "b": 0.7, "c": 0.1},
            "confidence": 0.11,
        },
        "s": {
            "type": "score",
            "score": 1.6,
            "legend": {"0": "low", "1": "mid", "2": "high"},
            "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7},
            "confidence": 0.5,
        },
    },
    "usage": {"input_tokens": 3, "output_tokens": 1},
}


def changed(*path, to=None):
    reply = copy.deepcopy(GOOD)
    target: Any = reply
    for step in path[:-1]:
        target = target[step]
    if to is None:
        del target[path[-1]]
    else:
        target[path[-1]] = to
    return reply


def test_a_good_reply_is_typed_and_confidence_is_ours():
    found = read_reply(ASK, GOOD)
    assert list(found) == ["n", "c", "s"]
    assert found["n"].noul == 0.9
    assert found["c"].confidence == pytest.approx((0.7 - 1 / 3) / (2 / 3))
    assert found["c"].host_confidence == 0.11
    assert found["s"].level == "high"


@pytest.mark.parametrize(
    "reply",
    [
        changed("answers", "c", "confidence"),
        changed("answers", "s", "legend"),
        changed("answers", "extra", to={"type": "noul", "noul": 2}),
        changed("usage"),
        changed("latency_ms", to=1),
        changed("answers", "c", "probabilities", to={"c": 0.1, "b": 0.7, "a": 0.2}),
        changed(
            "answers",
            "c",
            to={**GOOD["answers"]["c"], "choice": "b", "probabilities": {"a": 0.45, "b": 0.445, "c": 0.1}},
        ),
        changed("answers", "c", "probabilities", to={"a": 0.33, "b": 0.33, "c": 0.33}),
        changed("answers", "n", "noul", to=1),
    ],
)
def test_what_does_no_harm_is_let_through(reply):
    assert list(read_reply(ASK, reply)) == ["n", "c", "s"]


@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        "text",
        {},
        changed("model"),
        changed("model", to=3),
        changed("answers"),
        changed("answers", to=[]),
        changed("answers", "n"),
        changed("answers", "c"),
        changed("answers", "n", to=0.9),
        changed("answers", "n", "type", to="boolean"),
        changed("answers", "n", "noul"),
        changed("answers", "n", "noul", to="0.9"),
        changed("answers", "n", "noul", to=True),
        changed("answers", "n", "noul", to=1.7),
        changed("answers", "n", "noul", to=-0.1),
        changed("answers", "n", "noul", to=math.nan),
        changed("answers", "n", "noul", to=10**400),
        changed("answers", "c", "choice"),
        changed("answers", "c", "choice", to="d"),
        changed("answers", "c", "choice", to="a"),
        changed("answers", "c", "confidence", to=1.5),
        changed("answers", "c", "probabilities"),
        changed("answers", "c", "probabilities", to={"a": 0.3, "b": 0.7}),
        changed("answers", "c", "probabilities", to={"A": 0.2, "b": 0.7, "c": 0.1}),
        changed("answers", "c", "probabilities", to={"a": 0.2, "b": 0.7, "c": 0.1, "d": 0.0}),
        changed("answers", "c", "probabilities", to={"a": 0.1, "b": 0.2, "c": 0.1}),
        changed("answers", "c", "probabilities", to={"a": 0.3, "b": 0.8, "c": 0.1}),
        changed("answers", "c", "probabilities", "a", to="0.2"),
        changed("answers", "s", "score"),
        changed("answers", "s", "score", to=2.0),
        changed("answers", "s", "score", to=-1),
        changed("answers", "s", "legend", to={"1": "low", "2": "mid", "3": "high"}),
        changed("answers", "s", "probabilities", to={"1": 0.1, "2": 0.2, "3": 0.7}),
    ],
)
def test_a_reply_that_breaks_one_rule_fails_the_whole_ask(reply):
    with pytest.raises(BadAnswer) as caught:
        read_reply(ASK, reply)
    assert caught.value.word == "bad_answer"
    assert 0 < len(caught.value.text) <= 200


def test_a_host_that_rounds_two_hundred_options_is_believed():
    names = {f"o{n}": None for n in range(200)}
    ask = Ask("m", "s", (Question("c", "choice", "?", names),))
    given = {name: 0.0 for name in names} | {"o0": 0.6}
    body = {"model": "m", "answers": {"c": {"type": "choice", "choice": "o0", "probabilities": given}}}
    assert read_reply(ask, body)["c"].choice == "o0"
    given["o0"] = 0.4
    with pytest.raises(BadAnswer, match="sum"):
        read_reply(ask, body)


def test_only_whole_token_counts_are_kept():
    assert read_usage(GOOD) == {"input_tokens": 3, "output_tokens": 1}
    assert read_usage({"usage": {"input_tokens": 3.0, "output_tokens": -1}}) == {"input_tokens": 3}
    assert read_usage({"usage": "many"}) == read_usage(None) == {}
