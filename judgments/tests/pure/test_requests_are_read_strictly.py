"""What a System One request may and may not say, and in which words it is refused."""

import json

import pytest

from judgments import wire
from judgments.wire_errors import WireError

NOUL = {"type": "noul", "instructions": "Is it urgent?"}


def request(question=None, **changes):
    return {"model": "jev-latest", "state": "text", "questions": {"q": question or NOUL}, **changes}


def refusals(obj):
    with pytest.raises(WireError) as caught:
        wire.parse_request(obj)
    assert caught.value.status == 422
    details = caught.value.payload["detail"]
    assert all(d["loc"][0] == "body" and d["msg"] and d["type"] for d in details)
    return ["/".join(map(str, d["loc"][1:])) for d in details]


def test_a_request_keeps_its_ids_names_and_order():
    names = {"b 🙂": None, "a": {"owns": ["x"]}, "환불": ["list"], " ": "blank", "": "empty"}
    asked = {"with space.1": {"type": "choice", "criteria": names}, "질문": NOUL}
    ask = wire.parse_request(request(questions=asked))
    assert [q.id for q in ask.questions] == ["with space.1", "질문"]
    assert ask.questions[0].options == tuple(names)
    assert ask.as_wire()["questions"] == asked


@pytest.mark.parametrize("state", ["", "text", {}, {"a": 1}, [], [1, None]])
def test_a_state_is_a_string_an_object_or_an_array(state):
    assert wire.parse_request(request(state=state)).state == state


@pytest.mark.parametrize(
    "question",
    [
        {"type": "noul", "instructions": "x", "criteria": None},
        {"type": "noul", "instructions": "x", "criteria": {}},
        {"type": "noul", "criteria": {"true": "yes"}},
        {"type": "noul", "criteria": {"false": {"examples": ["no"]}}},
        {"type": "noul", "instructions": {"task": "x"}, "criteria": {"true": None, "false": ["a"]}},
        {"type": "choice", "criteria": {"only": None}},
        {"type": "choice", "instructions": ["a"], "criteria": {f"o{n}": None for n in range(255)}},
        {"type": "score", "criteria": ["low", "high"]},
        {"type": "score", "instructions": "x", "criteria": [{"label": n} for n in range(10)], "other": 1},
    ],
)
def test_every_documented_question_is_taken(question):
    assert wire.parse_request(request(question)).questions[0].type == question["type"]


def test_unknown_fields_and_a_null_assets_are_ignored():
    assert wire.parse_request(request(seed=7, x_trace="t", assets=None)).model == "jev-latest"


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("text", "questions/q"),
        ({"instructions": "x"}, "questions/q/type"),
        ({"type": "boolean", "instructions": "x"}, "questions/q/type"),
        ({"type": ["noul"], "instructions": "x"}, "questions/q/type"),
        ({"type": "box", "instructions": "x"}, "questions/q/type"),
        ({"type": "noul"}, "questions/q/noul/instructions"),
        ({"type": "noul", "criteria": {"true": None}}, "questions/q/noul/instructions"),
        ({"type": "noul", "instructions": 1}, "questions/q/noul/instructions"),
        ({"type": "noul", "instructions": "x", "criteria": []}, "questions/q/noul/criteria"),
        ({"type": "noul", "instructions": "x", "criteria": {"yes": "x"}}, "questions/q/noul/criteria/yes"),
        ({"type": "noul", "instructions": "x", "criteria": {"true": 1}}, "questions/q/noul/criteria/true"),
        ({"type": "choice"}, "questions/q/choice/criteria"),
        ({"type": "choice", "criteria": {}}, "questions/q/choice/criteria"),
        ({"type": "choice", "criteria": ["a"]}, "questions/q/choice/criteria"),
        ({"type": "choice", "criteria": {"a": True}}, "questions/q/choice/criteria/a"),
        ({"type": "choice", "criteria": {str(n): None for n in range(256)}}, "questions/q/choice/criteria"),
        ({"type": "score"}, "questions/q/score/criteria"),
        ({"type": "score", "criteria": {"0": "a", "1": "b"}}, "questions/q/score/criteria"),
        ({"type": "score", "criteria": ["one"]}, "questions/q/score/criteria"),
        ({"type": "score", "criteria": ["l"] * 11}, "questions/q/score/criteria"),
        ({"type": "score", "criteria": ["a", None]}, "questions/q/score/criteria/1"),
    ],
)
def test_a_bad_question_is_refused_where_it_is_bad(question, where):
    assert refusals(request(question)) == [where]


@pytest.mark.parametrize("body", [None, [], "text", 1, True])
def test_a_body_that_is_no_object_is_refused(body):
    assert refusals(body) == [""]


def test_every_missing_field_is_named_at_once():
    assert sorted(refusals({})) == ["model", "questions", "state"]


def test_bad_fields_beside_the_questions_are_refused():
    assert refusals(request(model=1, state=None)) == ["model", "state"]
    assert refusals(request(questions={})) == ["questions"]
    assert refusals(request(questions=[])) == ["questions"]
    assert refusals(request(questions={"": NOUL})) == ["questions/"]


@pytest.mark.parametrize("assets", [{}, {"a": {"type": "image"}}])
def test_images_are_refused_as_text_only(assets):
    with pytest.raises(WireError, match="Text only"):
        wire.parse_request(request(assets=assets))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"model": "x", "state"',
        b'{"state": NaN}',
        b'{"state": [Infinity]}',
        b'{"state": -Infinity}',
        b'{"state": 1e999}',
        b'{"state": ' + b"9" * 5_000 + b"}",
        b'{"state": "\xff"}',
        b'{"state": "\x01"}',
        b"{} {}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_bytes_that_are_not_json_are_a_validation_error(body):
    with pytest.raises(WireError) as caught:
        wire.read_body(body)
    assert caught.value.status == 422
    assert caught.value.payload["detail"][0]["type"] == "json_invalid"


def test_a_byte_order_mark_is_no_reason_to_refuse():
    assert wire.read_body(b"\xef\xbb\xbf[]") == []


def test_a_key_that_comes_twice_counts_once_with_its_last_value():
    body = (
        b'{"model":"m","state":"s","questions":{"q":{"type":"choice","criteria":{"a":"1","b":null,"a":"2"}}}}'
    )
    question = wire.parse_request(wire.read_body(body)).questions[0]
    assert list(question.criteria.items()) == [("a", "2"), ("b", None)]


def test_a_lone_surrogate_comes_back_as_it_came():
    body = (
        rb'{"model":"m","state":"\ud800","questions":{"\udfff":{"type":"choice","criteria":{"\ud83d":null}}}}'
    )
    ask = wire.parse_request(wire.read_body(body))
    assert rb"\ud83d" in wire.render(ask.as_wire())
    assert json.loads(wire.render(ask.as_wire())) == json.loads(body)


def test_a_state_a_thousand_levels_deep_is_read_and_written():
    deep = b'{"k":[' * 500 + b'"\\ud83d\\ude42",1.5,-2,true,null,{}' + b"]}" * 500
    whole = b'{"model":"m","state":' + deep + b',"questions":{"q":{"type":"noul","instructions":"x"}}}'
    ask = wire.parse_request(wire.read_body(whole))
    assert wire.render(ask.state).decode() == deep.decode().replace("\\ud83d\\ude42", "🙂")


@pytest.mark.parametrize("bad", [b"[1,]", b'{"a" 1}', b"{1:2}", b'{"a":1,}', b"[tru]", b'"\\x"', b"[01]"])
def test_bad_json_is_found_at_any_depth(bad):
    for text in (bad, b"[" * 1_000 + bad + b"]" * 1_000):
        with pytest.raises(WireError, match="JSON decode error"):
            wire.read_body(text)
