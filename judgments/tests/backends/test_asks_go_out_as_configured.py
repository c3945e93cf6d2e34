"""Base URL and path, auth header, model, and both dialects on the wire."""

import threading

import pytest

from judgments import backends
from judgments.backends import Failure, HostConfig
from judgments.backends.http import endpoint
from judgments.questions import Ask, Question
from judgments.tests.backends.asks import ASK, JUST_NOUL, KEY, good
from synth.testing.scripted_host import ScriptedHost


@pytest.mark.parametrize(
    ("base", "path", "dialect", "url"),
    [
        ("http://h:1", "", "systemone", "http://h:1/v1/systemone"),
        ("http://h/", "", "openai-decisions", "http://h/v1/decisions"),
        ("https://h/v1/", "", "systemone", "https://h/v1/systemone"),
        ("https://h/inference/v1", "", "openai-decisions", "https://h/inference/v1/decisions"),
        ("https://h/v1/systemone", "", "systemone", "https://h/v1/systemone"),
        ("https://h/api", "/alpha/decisions", "systemone", "https://h/api/alpha/decisions"),
        ("https://h/api", "judge", "systemone", "https://h/api/judge"),
        ("http://user:pass@h:8/x?y=z", "", "systemone", "http://h:8/x/v1/systemone"),
        ("http://[::1]:5", "", "systemone", "http://[::1]:5/v1/systemone"),
    ],
)
def test_the_endpoint_is_base_and_path(base, path, dialect, url):
    assert endpoint(HostConfig(base, path=path, dialect=dialect)) == url


def asked(host_config=None, ask=JUST_NOUL, body=None, **changes):
    with ScriptedHost([{"body": body or good()}]) as host:
        reply = backends.ask(HostConfig(f"http://127.0.0.1:{host.port}", **changes), ask, 5)
        return reply, host.requests[0]


def test_a_reply_says_who_answered_what():
    reply, request = asked(model="ours", key=KEY)
    assert request.path == "/v1/systemone"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": "ours",
        "state": "s",
        "questions": {"n": {"type": "noul", "instructions": "Is it urgent?"}},
    }
    assert reply.typed["n"].noul == 0.9
    assert reply.answers == good()["answers"]
    assert (reply.served_model, reply.usage) == ("host-1", {"input_tokens": 4, "output_tokens": 1})
    assert reply.latency_ms < 5_000 and reply.n_tries == 1


def test_the_auth_header_is_configurable_and_absent_without_a_key():
    _, request = asked(key=KEY, auth_header="X-Api-Key", auth_scheme="")
    assert request.headers["X-Api-Key"] == KEY and "Authorization" not in request.headers
    assert "Authorization" not in asked()[1].headers


def test_what_is_not_utf8_is_replaced_before_sending():
    question = Question("n", "choice", "?", {"a\ud800": None, "b": None})
    probabilities = {"a\ufffd": 0.9, "b": 0.1}
    answer = {"type": "choice", "choice": "a\ufffd", "probabilities": probabilities, "confidence": 0.8}
    reply, request = asked(
        ask=Ask("m", "x\udcff\0", (question,)), body={"model": "m", "answers": {"n": answer}}
    )
    assert request.json["state"] == "x\ufffd\ufffd"
    assert reply.typed["n"].choice == "a\ud800"  # told under the name that was asked


def test_an_ask_that_is_no_json_is_not_sent():
    with pytest.raises(Failure, match="not JSON"):
        asked(ask=Ask("m", {"x": float("nan")}, JUST_NOUL.questions))


def test_the_openai_dialect_goes_by_position():
    questions = (
        Question("n", "noul", "Urgent?", {"true": "today", "false": {"or": "later"}}),
        *ASK.questions[1:],
    )
    listed = [{"value": "Tee", "probability": 0.1}, {"value": "Café", "probability": 0.2}]
    levels = [{"value": n, "label": "x", "probability": p} for n, p in enumerate((0.2, 0.3, 0.5))]
    body = {
        "model": "gpt",
        "answers": [
            {"type": "predicate", "name": None, "probability": 0.8},
            {
                "type": "choice",
                "choice": "Größe",
                "probabilities": [*listed, {"value": "Größe", "probability": 0.7}],
                "confidence": 0.5,
            },
            {"type": "score", "score": 1.3, "probabilities": levels, "confidence": 0.5},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 0},
    }
    ask = Ask("m", {"a": 1}, questions)
    reply, request = asked(ask=ask, body=body, dialect="openai-decisions")
    assert request.path == "/v1/decisions"
    assert request.json["input"] == '{"a":1}'
    sent = request.json["questions"]
    assert [q["type"] for q in sent] == ["predicate", "choice", "score"]
    assert sent[0]["instructions"] == 'Urgent?\nIt is true when: today\nIt is false when: {"or":"later"}'
    assert sent[1]["choices"][1] == {"value": "Tee"}
    assert sent[2]["levels"] == [{"label": "low"}, {"label": "mid"}, {"label": "high"}]
    assert list(reply.typed) == ["n", "café-1", "s"]
    assert list(reply.typed["café-1"].probabilities) == ["Café", "Tee", "Größe"]
    assert reply.typed["s"].score == 1.3


@pytest.mark.parametrize(
    "answers",
    [
        None,
        [],
        [{"type": "refusal", "name": None}],
        [{"type": "choice", "name": None, "choice": "x"}],
        ["text"],
        [{"type": "predicate", "probability": 2}],
    ],
)
def test_a_bad_reply_of_the_openai_dialect_fails_the_ask(answers):
    with pytest.raises(Failure) as caught:
        asked(body={"model": "m", "answers": answers}, dialect="openai-decisions")
    assert caught.value.word == "bad_answer"


def test_asks_work_from_many_threads_at_once():
    with ScriptedHost([{"body": good()}], repeat_last=True) as host:
        config = HostConfig(f"http://127.0.0.1:{host.port}", max_at_once=3)
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(backends.ask(config, JUST_NOUL, 20)))
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 12
