"""The public suite, the official SDK and OpenAI's client against the real process tree."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import yaml

from judgments.tests.api.public_clients import ask_decisions, ask_with_the_sdk, passes_the_public_suite
from synth.stack.home import CHECKOUT
from synth.tests.stack.tree import REAL, Tree

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A whole Synth whose reader is the model-free one."""
    made = Tree(tmp_path_factory.mktemp("wire") / "home", script=REAL, SYSTEM_ONE_SERVED_BY="scripted")
    try:
        yield made.start()
    finally:
        made.destroy()


@pytest.fixture(scope="module")
def key(tree: Tree) -> str:
    return tree.manage("create_api_key", "frontend", "--role", "app").stdout.split()[-1]


@pytest.fixture(scope="module")
def url(tree: Tree) -> str:
    return f"http://127.0.0.1:{tree.port}"


def test_the_public_suite_passes_whole(url, key, tmp_path):
    passes_the_public_suite(url, key, tmp_path / "report.json")


@pytest.mark.parametrize("compression", ["zstd", False])
def test_the_official_sdk_works_unchanged(url, key, compression):
    for reply in ask_with_the_sdk(url, key, "I was charged twice. " * 2_000, compression):
        assert reply.nouls["refund"].noul == 0.5
        assert set(reply.choices["team"].probabilities) == {"Billing", "Sales"}
        assert reply.scores["anger"].score == pytest.approx(1.0)


def test_the_openai_client_asks_decisions_and_lists_models(url, key):
    import openai

    assert [answer["type"] for answer in ask_decisions(url, key)] == ["predicate", "choice", "score"]
    with openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0) as client:
        assert "jev-latest" in [model.id for model in client.models.list()]
        with pytest.raises(openai.UnprocessableEntityError) as caught:
            client.post("/decisions", body={"model": "jev-latest"}, cast_to=object)
        assert "input" in caught.value.message


def test_sixty_four_clients_at_once_get_answers_only(url, key):
    body = {"model": "jev-latest", "state": "x", "questions": {"q": {"type": "noul", "instructions": "Yes?"}}}

    def ask(_: int) -> list[int]:
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
            return [client.post("/v1/systemone", json=body).status_code for _ in range(5)]

    with ThreadPoolExecutor(64) as pool:
        statuses = Counter(code for codes in pool.map(ask, range(64)) for code in codes)
    assert statuses == {200: 320}


def test_a_get_of_the_endpoint_is_a_405(url):
    answer = httpx.get(f"{url}/v1/systemone")
    assert answer.status_code == 405 and answer.json()["detail"]["error_type"] == "method_not_allowed"
    assert not answer.is_redirect


PAGE = (CHECKOUT / "docs" / "systemone.md").read_text()
EXAMPLES = re.findall(r"```(bash|python)\n(.*?)```", PAGE, re.S)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_page_run(url, key, number):
    language, text = EXAMPLES[number]
    shell = [sys.executable] if language == "python" else ["bash", "-euo", "pipefail"]
    command = [*shell, "-c", text]
    env = {**os.environ, "URL": url, "KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stdout.strip(), run.stdout + run.stderr
    assert "error" not in run.stdout and "detail" not in run.stdout, run.stdout


def test_a_gateway_set_up_as_the_page_says_reaches_it(url, key, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it fetches prices at import otherwise
    from litellm.router import Router

    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    monkeypatch.setenv("SYNTH_KEY", key)
    router: Any = Router(yaml.safe_load(text.replace("http://localhost:8000", url))["model_list"])
    question = {"type": "noul", "instructions": "Is the customer asking for money back?"}
    reply = asyncio.run(
        router.asystemone(model="synth", state="I paid twice.", questions={"refund": question})
    )
    assert reply.answers["refund"].noul == 0.5
