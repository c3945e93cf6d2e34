"""Synth as a System One server: answers, runs, bodies in every dress, and errors in the wire's shapes."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from backports import zstd

from judgments.models import Run
from judgments.tests.api.conftest import BODY, CHOICE, NOUL, SCORE, Wire
from synth.services import keys, people

ALL = {"n": NOUL, "c": CHOICE, "s": SCORE}
RAW = json.dumps(BODY).encode()


def asking(**questions: Any) -> bytes:
    return json.dumps({**BODY, "questions": questions}).encode()


def test_every_type_is_answered_exactly(served, wire):
    served.answer("served.systemone", 0.8, question="n")
    served.answer("served.systemone", [0.25, 0.75], question="c")
    served.answer("served.systemone", [0.1, 0.2, 0.7], question="s")
    answer = wire.ask({**BODY, "questions": ALL, "unknown": 1})
    body = answer.json()
    assert answer.status_code == 200 and answer.headers["x-typesafe-request-id"].startswith("req_")
    assert answer.headers["Content-Type"] == "application/json"
    assert set(body) == {"model", "answers", "usage", "x_run_id"}
    assert body["answers"]["n"] == {"type": "noul", "noul": 0.8}
    assert body["answers"]["c"] == {
        "type": "choice",
        "choice": "Sales",
        "probabilities": {"Billing": 0.25, "Sales": 0.75},
        "confidence": 0.5,
    }
    assert body["answers"]["s"]["score"] == pytest.approx(1.6)
    assert body["answers"]["s"]["legend"] == {"0": "calm", "1": "cross", "2": "furious"}
    assert body["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_every_served_ask_is_a_run_of_its_key(served, wire, key):
    body = wire.ask().json()
    run = Run.objects.get()
    assert body["x_run_id"] == str(run) and run.judgment == "served.systemone"
    assert (run.origin, run.api_key_id, run.session_id) == ("served", key.key.pk, f"api:{key.key.prefix}")
    assert (run.state, run.model, run.served_model) == (BODY["state"], "jev-latest", "scripted")


def test_no_run_without_saving(served, wire, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_RUNS", "off")
    assert "x_run_id" not in wire.ask().json() and not Run.objects.exists()


def test_decisions_speak_the_openai_dialect(served, wire):
    served.answer("served.decisions", 0.9)
    ask = {
        "model": "jev-latest", "input": "I want my money back.",
        "questions": [{"type": "predicate", "instructions": "Money back?", "name": "refund"}],
    }  # fmt: skip
    body = wire.ask(ask, path="/v1/decisions").json()
    assert body["answers"] == [{"type": "predicate", "name": "refund", "probability": 0.9}]
    wrong = wire.ask({"model": "jev-latest", "questions": []}, path="/v1/decisions")
    assert wrong.status_code == 422 and wrong.json()["error"]["message"]
    assert Run.objects.get().judgment == "served.decisions"


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        ("zstd", zstd.compress(RAW)),
        ("gzip", gzip.compress(RAW)),
        ("identity", RAW),
        ("x-gzip", gzip.compress(RAW[:20]) + gzip.compress(RAW[20:])),
        ("zstd", zstd.compress(RAW[:20]) + zstd.compress(RAW[20:])),
        ("gzip, zstd", zstd.compress(gzip.compress(RAW))),
    ],
)
def test_compressed_bodies_are_read(wire, encoding, raw):
    assert wire.raw(raw, HTTP_CONTENT_ENCODING=encoding).status_code == 200


@pytest.mark.parametrize(
    ("encoding", "raw", "status"),
    [
        ("br", RAW, 415),
        ("deflate", zlib.compress(RAW), 415),
        ("gzip, gzip, gzip", RAW, 415),
        ("zstd", RAW, 400),
        ("gzip", RAW, 400),
        ("zstd", b"", 400),
        ("zstd", zstd.compress(RAW)[:-3], 400),
        ("gzip", gzip.compress(RAW)[:-12], 400),
        ("zstd", zstd.compress(bytes(30_000_000)), 413),
        ("gzip", gzip.compress(bytes(30_000_000)), 413),
        ("zstd", zstd.compress(b"") * 1_000 + zstd.compress(RAW), 400),
        ("gzip", gzip.compress(b"") * 1_000 + gzip.compress(RAW), 400),
        ("", bytes(3_000_000), 413),
    ],
)
def test_other_bodies_are_refused(wire, encoding, raw, status):
    headers = {"HTTP_CONTENT_ENCODING": encoding} if encoding else {}
    answer = wire.raw(raw, **headers)
    assert answer.status_code == status
    assert set(answer.json()["detail"]) == {"error_type", "message"}


def multipart(*parts: tuple[str, str, bytes]) -> tuple[bytes, str]:
    chunks = [b'--xx\r\nContent-Disposition: form-data; name="%b"\r\nContent-Type: %b\r\n\r\n%b\r\n' % tuple(
        part if isinstance(part, bytes) else part.encode() for part in p) for p in parts]  # fmt: skip
    return b"".join(chunks) + b"--xx--\r\n", "multipart/form-data; boundary=xx"


def test_multipart_without_assets_is_read(wire):
    raw, kind = multipart(("request", "application/json", RAW))
    assert wire.raw(raw, content_type=kind).status_code == 200
    packed = wire.raw(zstd.compress(raw), content_type=kind, HTTP_CONTENT_ENCODING="zstd")
    assert packed.status_code == 200


def test_multipart_with_assets_says_text_only(wire):
    body = {**BODY, "assets": {"photo": {"part": "photo", "media_type": "image/png"}}}
    raw, kind = multipart(
        ("request", "application/json", json.dumps(body).encode()), ("photo", "image/png", b"\x89PNG\x00")
    )
    answer = wire.raw(raw, content_type=kind)
    assert answer.status_code == 422 and "Text only" in answer.json()["detail"][0]["msg"]
    for broken in (raw[:40], b"", b"--xx"):
        assert wire.raw(broken, content_type=kind).status_code in (400, 422)
    assert wire.raw(raw, content_type="multipart/form-data").status_code == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"null", b"[]", b"{", b'"x"', b"\xff\xfe", b'{"model": NaN}', b'{"model": 1e999}',
        b"[" * 100_000, b'{"a":' * 2_000, b'{"model": "jev-latest"}',
        json.dumps({**BODY, "state": None}).encode(), json.dumps({**BODY, "state": 7}).encode(),
        asking(), asking(**{"": NOUL}), asking(q={"type": "box"}),
        asking(q={**SCORE, "criteria": {"a": "b"}}),
        json.dumps({**BODY, "state": {"x": float("inf")}}).encode(),
        asking(q={**CHOICE, "criteria": {str(n): None for n in range(256)}}),
    ],
)  # fmt: skip
def test_bad_requests_are_422_with_a_place(wire, raw):
    answer = wire.raw(raw)
    assert answer.status_code == 422
    for problem in answer.json()["detail"]:
        assert set(problem) == {"loc", "msg", "type"} and problem["loc"][0] == "body"
    assert answer.headers["x-typesafe-request-id"]


def nested(depth: int) -> bytes:
    rest = RAW[RAW.index(b', "questions"') :]
    return b'{"model":"jev-latest","state":' + b"[" * depth + b"]" * depth + rest


@pytest.mark.parametrize(
    "raw",
    [
        nested(1_000),
        json.dumps({**BODY, "state": "\ud800 half"}).encode(),
        RAW[:-1] + b', "state": "again"}',
        json.dumps({**BODY, "state": "x\x00y"}).encode(),
        asking(**{"질문 🎯": NOUL}),
        asking(q={**CHOICE, "criteria": {f"{'o' * 400}{n}": None for n in range(255)}}),
    ],
)  # fmt: skip
def test_odd_requests_are_answered_and_saved(wire, raw):
    assert wire.raw(raw).status_code == 200
    assert Run.objects.count() == 1


@pytest.mark.parametrize("name", ["\ud800", "half \udc00", "\x00", "a\x00b"])
def test_names_that_no_host_could_be_sent_come_back_byte_for_byte(served, wire, name):
    choice = {"type": "choice", "criteria": {"other": None, name: "this one"}}
    served.answer("served.systemone", [0.25, 0.75], question="c")
    body = {
        **BODY,
        "questions": {name: NOUL, "c": choice, "s": {"type": "score", "criteria": ["none", name]}},
    }
    answer = wire.ask(body)
    assert answer.status_code == 200
    found = json.loads(answer.content)["answers"]
    assert list(found) == [name, "c", "s"]
    assert found["c"]["choice"] == name and found["c"]["probabilities"] == {"other": 0.25, name: 0.75}
    assert found["s"]["legend"] == {"0": "none", "1": name}
    assert Run.objects.count() == 1


def test_choices_of_the_openai_dialect_come_back_byte_for_byte(served, wire):
    served.answer("served.decisions", [0.75, 0.25])
    choices = [{"value": "\ud800"}, {"value": "b"}]
    question = {"type": "choice", "instructions": "Which?", "choices": choices}
    ask = {"model": "jev-latest", "input": "x", "questions": [question]}
    answer = wire.ask(ask, path="/v1/decisions")
    assert answer.status_code == 200 and json.loads(answer.content)["answers"][0]["choice"] == "\ud800"


def test_names_that_would_become_one_are_refused(wire):
    for questions in (
        {"\x00": NOUL, "\ud800": NOUL},
        {"q": {**CHOICE, "criteria": {"\x00": None, "\ud800": None}}},
    ):
        answer = wire.ask({**BODY, "questions": questions})
        assert (answer.status_code, answer.json()["detail"]["error_type"]) == (400, "api_usage_error")


@pytest.mark.parametrize(
    "question",
    [
        b'{"type": "noul", "instructions": DEEP}',
        b'{"type": "choice", "criteria": {"a": DEEP, "b": null}}',
        b'{"type": "score", "criteria": [DEEP, "b"]}',
    ],
)
def test_what_is_asked_as_deep_as_may_be_is_saved_and_can_be_read(wire, question):
    deep = b"[" * 900 + b'"x"' + b"]" * 900
    raw = RAW[: RAW.index(b'"questions"')] + b'"questions": {"q": ' + question.replace(b"DEEP", deep) + b"}}"
    answer = wire.raw(raw)
    assert answer.status_code == 200
    run = Run.objects.get()
    assert wire.raw(b"", f"/api/judgments/runs/{run}/", "GET").status_code == 200
    assert deep.decode()[200:-200] in json.dumps(run.version.questions).replace('\\"', '"')


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/systemone/", "/v1/decisions", "/v1/decisions/"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_405_in_json(wire, path, method):
    answer = wire.raw(b"", path, method)
    assert answer.status_code == 405 and answer.headers["Allow"] == "POST"
    assert answer.headers["Content-Type"] == "application/json"


def test_both_forms_of_the_address_answer(wire):
    assert wire.ask(path="/v1/systemone/").status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer nonsense", "Basic abc", "Bearer \x80"])
def test_without_a_good_key_nothing_is_answered(nobody, header):
    if header:
        nobody.headers = {"HTTP_AUTHORIZATION": header}
    for answer in (nobody.ask(), nobody.raw(b"", "/v1/models", "GET")):
        assert answer.status_code == 401
        assert answer.json()["detail"]["error_type"] == "authentication_error"
    assert not Run.objects.exists()


def test_a_key_for_something_else_is_403(served):
    plain = keys.issue(people.ensure("chatter"), role="app", scopes=["chat"]).plain
    answer = Wire(plain).ask()
    assert (answer.status_code, answer.json()["detail"]["error_type"]) == (403, "authentication_error")


def test_token_is_another_word_for_bearer(wire, key):
    wire.headers = {"HTTP_AUTHORIZATION": f"Token {key.plain}"}
    assert wire.ask().status_code == 200


def test_an_unknown_model_is_400(wire):
    answer = wire.ask({**BODY, "model": "gpt-nothing"})
    assert (answer.status_code, answer.json()["detail"]["error_type"]) == (400, "api_usage_error")


def test_models_serve_both_kinds_of_clients(wire):
    body = wire.raw(b"", "/v1/models", "GET").json()
    assert body["object"] == "list" and body["data"][0]["id"] == body["models"][0]["name"] == "jev-latest"
    assert wire.raw(b"", "/v1/models", "POST").status_code == 405
    assert wire.raw(b"", "/v1/models", "HEAD").status_code == 200


@pytest.mark.parametrize(
    ("word", "text", "status"),
    [("unreachable", "No torch worker runs.", 503), ("timeout", "", 503), ("overloaded", "", 529),
     ("bad_answer", "", 503), ("refused", "Too many tokens: 9000 of 512.", 400)],
)  # fmt: skip
def test_trouble_with_the_reader_has_its_status(served, wire, word, text, status):
    served.fail("served.systemone", word, text)
    answer = wire.ask()
    assert answer.status_code == status
    assert ("Retry-After" in answer.headers) == (status >= 500)
    assert set(answer.json()["detail"]) == {"error_type", "message"}
    if text:
        assert answer.json()["detail"]["message"] == text
    assert Run.objects.get().failure == word


def test_too_many_at_once_are_529(wire, monkeypatch):
    from judgments.services import serving

    monkeypatch.setitem(serving._at_work, "n", 10_000)
    answer = wire.ask()
    assert (answer.status_code, answer.headers["Retry-After"]) == (529, "1")


def test_a_key_over_its_quota_waits(wire, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_RATE_PER_KEY", "2")
    assert [wire.ask().status_code for _ in range(3)] == [200, 200, 429]
    assert int(wire.ask().headers["Retry-After"]) >= 1


def test_our_own_failure_is_in_the_wires_shape(wire, monkeypatch):
    from judgments.services import serving

    monkeypatch.setattr(serving, "answer", lambda *a, **k: 1 / 0)
    answer = wire.ask()
    assert (answer.status_code, answer.json()["detail"]["error_type"]) == (500, "internal_error")


def test_without_a_torch_worker_the_answer_is_503_with_the_reason(wire, monkeypatch):
    monkeypatch.setenv("SYSTEM_ONE_SERVED_BY", "local")
    pytest.importorskip("judgments.backends.local")
    answer = wire.ask()
    assert answer.status_code == 503 and "torch worker" in answer.json()["detail"]["message"]
    assert int(answer.headers["Retry-After"]) >= 1


def test_unknown_addresses_stay_unknown(wire):
    for path in ("/v1/systemonex", "/v1/", "/v1/none"):
        assert wire.ask(path=path).status_code == 404
