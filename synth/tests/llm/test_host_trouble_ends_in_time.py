"""Hosts that hang, drip, redirect or go away: one deadline for everything, no second try."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from synth.llm import LlmError, Message, Request, complete
from synth.llm import scripted as scripted_backend
from synth.models import LlmCall
from synth.testing.scripted_host import ScriptedHost

pytestmark = pytest.mark.django_db


def trouble(**more) -> LlmError:
    with pytest.raises(LlmError) as caught:
        complete(Request("chat", [Message("user", "hi")], **more))
    return caught.value


@pytest.mark.parametrize("reply", [{"hang": True}, {"content": "slow", "drip_s": 0.2}, {"delay_s": 30}])
def test_the_deadline_covers_the_whole_call(reply):
    with ScriptedHost([reply]) as host, host.installed():
        started = time.monotonic()
        error = trouble(timeout_s=1.0)
    assert (error.reason, error.retryable) == ("llm_timeout", True)
    assert time.monotonic() - started < 8
    assert len(host.requests) == 1
    assert LlmCall.objects.get().outcome == "llm_timeout"


def test_an_answer_packed_unasked_is_never_unpacked():
    body = b'{"choices": [{"message": {"content": "' + b"a" * 50_000_000 + b'"}}]}'
    packed = {"raw": gzip.compress(body, 1), "headers": {"Content-Encoding": "gzip"}}
    with ScriptedHost([packed]) as host, host.installed():
        assert trouble().reason == "llm_unreachable"
    assert host.requests[0].headers["Accept-Encoding"] == "identity"


def test_nobody_listening_is_unreachable():
    host = ScriptedHost([])
    host._server.server_close()
    with host.installed():
        error = trouble()
    assert (error.reason, error.retryable) == ("llm_unreachable", True)


def test_a_redirect_is_not_followed():
    with ScriptedHost(["never"]) as other:
        hop = {"status": 307, "headers": {"Location": f"{other.base_url}/chat/completions"}}
        with ScriptedHost([hop]) as host, host.installed():
            assert trouble().reason == "llm_refused"
        assert other.requests == []


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    with ScriptedHost(["direct"]) as host, host.installed():
        assert complete(Request("chat", [Message("user", "hi")])).text == "direct"
    assert "org-of-somebody" not in str(host.requests[0].headers)


def test_the_base_url_may_lack_its_version():
    with ScriptedHost(["a"]) as host, host.installed(LLM_BASE_URL=f"127.0.0.1:{host.port}/"):
        complete(Request("chat", [Message("user", "hi")]))
    assert host.requests[0].path == "/v1/chat/completions"


def test_a_file_can_stand_in_for_a_host(tmp_path, settings):
    path = tmp_path / "replies.jsonl"
    lines = ["one", {"content": "for reflection", "purpose": "reflection"}, {"status": 503}]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    settings.LLM_BASE_URL = f"scripted:{path}"
    assert complete(Request("chat", [Message("user", "hi")])).text == "one"
    assert trouble().reason == "llm_overloaded"
    assert complete(Request("chat", [Message("user", "hi")])).text == "one"
    scripted_backend._used.clear()
    settings.LLM_BASE_URL = f"scripted:{tmp_path}/missing.jsonl"
    assert trouble().reason == "llm_unreachable"


def test_the_scripted_host_runs_as_a_program(tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text('"hello"\n')
    command = [sys.executable, "-m", "synth.testing.scripted_host", "--port", "0", "--replies", str(path)]
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=os.environ) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}/models", timeout=20) as answer:
                assert json.load(answer)["object"] == "list"
        finally:
            process.terminate()
