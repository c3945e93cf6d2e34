"""Log lines carry ids and never a secret."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from synth import logs

ROOT = Path(__file__).resolve().parents[3]
SECRET = "s3cr3t-value-123"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"sent Token {SECRET} to the host",
        f"postgresql://synth:{SECRET}@db.example:5432/synth is away",
        f"redis://:{SECRET}@cache/0",
        f"api_key={SECRET}",
        f'{{"api_key": "{SECRET}"}}',
        f"password: {SECRET}",
        f"key sk-{SECRET} was refused",
    ],
)
def test_secrets_in_text_are_hidden(text):
    event = logs.redact(None, "info", {"event": text, "nested": {"deep": [text]}, "error": ValueError(text)})
    assert SECRET not in json.dumps(event)
    assert "[hidden]" in event["event"]


@pytest.mark.parametrize("key", ["authorization", "api_key", "LLM_API_KEY", "password", "token", "x-api-key"])
def test_values_under_telling_names_are_hidden(key):
    event = logs.redact(None, "info", {"event": "x", key: SECRET, "headers": {key: SECRET}})
    assert SECRET not in json.dumps(event)


def test_counts_of_tokens_and_plain_addresses_are_kept():
    event = {
        "event": "see https://host.example/v1",
        "n_prompt_tokens": 12,
        "max_tokens": 5,
        "url": "http://a:80/x",
    }
    assert logs.redact(None, "info", dict(event)) == event


@pytest.fixture
def lines():
    """Everything logged, as JSON lines; the handler is put back afterwards."""
    root = logging.getLogger()
    before = list(root.handlers)
    logs.configure("info", "json")
    stream = io.StringIO()
    handler = root.handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = before


def test_a_json_line_has_the_bound_ids(lines):
    with structlog.contextvars.bound_contextvars(request_id="r1", task_id="t1", llm_call_id="c1"):
        structlog.get_logger("test.ids").info("happened", n=1)
        logging.getLogger("test.plain").warning("plain %s", "words")
    first, second = lines()
    assert (first["event"], first["n"], first["level"]) == ("happened", 1, "info")
    for line in (first, second):
        assert (line["request_id"], line["task_id"], line["llm_call_id"]) == ("r1", "t1", "c1")
    assert second["event"] == "plain words"


def test_secrets_are_hidden_in_tracebacks_and_foreign_lines(lines):
    try:
        raise ValueError(f"postgresql://u:{SECRET}@h/d")
    except ValueError:
        logging.getLogger("test.plain").exception("failed with Bearer %s", SECRET)
    (line,) = lines()
    assert SECRET not in json.dumps(line)
    assert "ValueError" in line["exception"]


def test_the_trace_is_the_request_before_the_task():
    with structlog.contextvars.bound_contextvars(task_id="t1"):
        assert logs.trace_id() == "t1"
        with structlog.contextvars.bound_contextvars(request_id="r1"):
            assert logs.trace_id() == "r1"


def test_lines_of_the_web_server_are_json_too():
    code = """
import logging.config, uvicorn.config
logging.config.dictConfig(uvicorn.config.LOGGING_CONFIG)
from synth import logs
logs.configure("info", "json")
logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
logging.getLogger("uvicorn.access").info("one of many")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    (line,) = map(json.loads, (run.stdout + run.stderr).splitlines())
    assert (line["event"], line["level"]) == ("Started server process [7]", "info")
