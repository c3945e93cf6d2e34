"""`POST /v1/decisions`: a list of questions, typed choice values, answers in their order."""

import pytest

from judgments import wire
from judgments.typed import typed_answer
from judgments.wire_errors import WireError

PREDICATE = {"type": "predicate", "name": "urgent", "instructions": "Is it urgent?"}
CHOICE = {
    "type": "choice",
    "instructions": [{"type": "input_text", "text": "Which"}, {"type": "input_text", "text": "team?"}],
    "choices": [{"value": "true", "description": "as text"}, {"value": True}, {"value": False}],
}
SCORE = {
    "type": "score",
    "name": "anger",
    "instructions": "How angry?",
    "levels": [{"label": "calm", "description": "no complaint"}, {"label": "angry"}],
}


def parse(**changes):
    body = {"model": "m", "input": "text", "questions": [PREDICATE, CHOICE, SCORE], **changes}
    return wire.parse_request(body, "openai-decisions")


def refused(**changes):
    with pytest.raises(WireError) as caught:
        parse(**changes)
    assert caught.value.status == 422
    body = caught.value.body("openai-decisions")
    assert body["error"]["message"] and body["detail"]
    return "/".join(map(str, body["detail"][0]["loc"][1:]))


def test_questions_become_ours_and_position_is_the_id():
    ask = parse()
    assert [(q.id, q.type) for q in ask.questions] == [("0", "noul"), ("1", "choice"), ("2", "score")]
    assert ask.questions[1].instructions == "Which\nteam?"
    assert ask.questions[2].criteria == ["calm: no complaint", "angry"]


def test_a_text_and_a_boolean_of_the_same_spelling_stay_apart():
    ask = parse()
    assert len(ask.questions[1].options) == 3
    answers = {"0": typed_answer(ask.questions[0], 0.9), "2": typed_answer(ask.questions[2], [0.25, 0.75])}
    answers["1"] = typed_answer(ask.questions[1], [0.1, 0.7, 0.2])
    body = wire.response(ask, answers, model="ours", usage={"input_tokens": 7, "output_tokens": 2})
    assert body["answers"][0] == {"type": "predicate", "name": "urgent", "probability": 0.9}
    choice = body["answers"][1]
    assert choice["choice"] is True and choice["name"] is None
    assert [entry["value"] for entry in choice["probabilities"]] == ["true", True, False]
    score = body["answers"][2]
    assert score["score"] == 0.75 and score["probabilities"][1] == {
        "value": 1,
        "label": "angry",
        "probability": 0.75,
    }
    assert body["usage"]["total_tokens"] == 9


def test_one_user_message_of_text_asks_the_same_as_the_text():
    message = {"role": "user", "content": [{"type": "input_text", "text": "text"}]}
    assert parse(input=[message]).state == parse().state


def test_a_conversation_with_tools_keeps_its_order():
    items = [
        {"role": "system", "content": "be kind"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "seen"},
        {"role": "user", "content": [{"type": "input_json", "data": {"a": 1}}]},
    ]
    assert [entry["role"] for entry in parse(input=items).state] == [
        "system",
        "assistant",
        "assistant",
        "tool",
        "user",
    ]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"input": 1}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input/0/role"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input/0/content/0"),
        ({"input": [{"type": "reasoning"}]}, "input/0/type"),
        ({"model": None}, "model"),
        ({"questions": {}}, "questions"),
        ({"questions": []}, "questions"),
        ({"questions": [PREDICATE] * 401}, "questions"),
        ({"questions": [{"type": "noul", "instructions": "x"}]}, "questions/0/type"),
        ({"questions": [{"type": "predicate"}]}, "questions/0/instructions"),
        ({"questions": [{**PREDICATE, "name": 1}]}, "questions/0/name"),
        ({"questions": [{**CHOICE, "choices": [{"value": "a"}]}]}, "questions/0/choices"),
        ({"questions": [{**CHOICE, "choices": [{"value": "a"}] * 2}]}, "questions/0/choices/1/value"),
        ({"questions": [{**CHOICE, "choices": [{"value": 1}, {}]}]}, "questions/0/choices/0/value"),
        ({"questions": [{**SCORE, "levels": [{"label": "a"}, {"label": 2}]}]}, "questions/0/levels/1/label"),
        ({"questions": [{**SCORE, "levels": None}]}, "questions/0/levels"),
    ],
)
def test_a_bad_request_is_refused_where_it_is_bad(changes, where):
    assert refused(**changes) == where


def test_an_empty_body_is_refused():
    with pytest.raises(WireError):
        wire.parse_request([], "openai-decisions")
    with pytest.raises(WireError):
        wire.parse_request({}, "openai-decisions")
