"""Responses, errors and the list of models, as public clients read them."""

from typing import Any

import httpx2
import pytest
from jevcompat.client import Response
from jevcompat.validate import validate_error_shape, validate_success, validate_validation_error
from typesafe_sdk import SystemOneResponse

from judgments import strict_json, wire, wire_errors
from judgments.typed import typed_answer

QUESTIONS = {
    "yes": {"type": "noul", "instructions": "?"},
    "환불 🙂": {"type": "choice", "criteria": {"b": None, "a": "x", "ü": ["y"]}},
    "one": {"type": "choice", "criteria": {"only": None}},
    "s": {"type": "score", "criteria": ["low", {"label": "mid"}, "high"]},
}


def body():
    ask = wire.parse_request({"model": "jev-latest", "state": "s", "questions": QUESTIONS})
    numbers: dict[str, Any] = {"yes": 0.25, "환불 🙂": [0.2, 0.7, 0.1], "one": [1.0], "s": [0.1, 0.2, 0.7]}
    answers = {q.id: typed_answer(q, numbers[q.id]) for q in ask.questions}
    usage = {"input_tokens": 5, "output_tokens": 4}
    extras = {"yes": {"calibrated": False}}
    return wire.response(ask, answers, model="synth", usage=usage, extras=extras, top={"x_reader": "stub"})


def shown(status, payload):
    content = wire.render(payload)
    data = strict_json.loads(content)
    return Response(status, {"content-type": "application/json"}, content, 0.0, data=data)


def test_a_response_passes_the_public_checks_byte_for_byte():
    assert validate_success({"questions": QUESTIONS}, shown(200, body())) == []


@pytest.mark.parametrize("numbers", [{"yes": 0.5, "no": 0.5}, {"c": 0.4, "b": 0.4 + 1e-9, "a": 0.2}])
def test_between_equals_the_order_of_options_does_not_decide(numbers):
    picked = set()
    for names in (list(numbers), list(numbers)[::-1]):
        question = wire.Question("q", "choice", "Which?", dict.fromkeys(names))
        picked.add(typed_answer(question, [numbers[name] for name in names]).choice)
    assert len(picked) == 1


def test_our_extras_are_all_prefixed():
    assert body()["answers"]["yes"] == {"type": "noul", "noul": 0.25, "x_calibrated": False}
    assert body()["x_reader"] == "stub"


def test_the_official_client_reads_every_answer_type():
    answer = httpx2.Response(200, content=wire.render(body()), headers={"x-typesafe-request-id": "req_1"})
    read = SystemOneResponse.from_http_response(answer)
    assert read.nouls["yes"].noul == 0.25
    assert read.choices["환불 🙂"].choice == "a"
    assert read.scores["s"].score == pytest.approx(1.6)


@pytest.mark.parametrize(
    "error",
    [
        wire_errors.unknown_model("x" * 5_000),
        wire_errors.max_tokens_exceeded(512, 900),
        wire_errors.not_authenticated("No key."),
        wire_errors.not_authenticated("Not this key.", 403),
        wire_errors.not_found("/v1/x"),
        wire_errors.method_not_allowed("GET"),
        wire_errors.too_large(1_000),
        wire_errors.unsupported("br"),
        wire_errors.corrupt("gzip"),
        wire_errors.rate_limited(3),
        wire_errors.overloaded(),
        wire_errors.unavailable("No torch worker runs."),
    ],
)
def test_every_error_has_a_type_and_a_message(error):
    assert validate_error_shape(shown(error.status, error.payload)) == []
    assert len(error.message) < 200
    is_retried = error.status in (429, 503, 529)
    assert ("Retry-After" in error.headers) == is_retried
    assert error.body("openai-decisions")["error"]["message"] == error.message


def test_a_validation_error_has_the_public_shape():
    with pytest.raises(wire_errors.WireError) as caught:
        wire.parse_request({})
    assert validate_validation_error(shown(422, caught.value.payload)) == []


def test_the_list_of_models_serves_both_kinds_of_clients():
    listed = wire.models_body([wire.ModelInfo("jev-latest", "Ours.", "2026-09-15")])
    assert listed["object"] == "list"
    assert listed["data"] == [
        {"id": "jev-latest", "object": "model", "created": 1789430400, "owned_by": "synth"}
    ]
    assert listed["models"] == [{"name": "jev-latest", "description": "Ours.", "release_date": "2026-09-15"}]


def test_request_ids_differ():
    assert wire.new_request_id() != wire.new_request_id()
