"""The AI SDK's provider for OpenAI-compatible servers, from npm, on Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).with_name("ai_sdk.mjs")
PACKAGES = ("ai@6", "@ai-sdk/openai-compatible@2")


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """A folder with the packages and the script; skips where Node or the packages cannot be had."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("no Node")
    folder = tmp_path_factory.mktemp("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *PACKAGES]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        pytest.skip("the packages could not be installed")
    shutil.copy(SCRIPT, folder)
    return folder


def time_of(request):
    """First the call of the client's tool; once its result is there, the answer."""
    last = request["messages"][-1]
    if last["role"] == "tool" or "noon in" in json.dumps(last):
        return "It is noon."
    return {"tool_calls": [{"name": "clock", "arguments": {"zone": "Kyoto"}}]}


def test_text_streams_tools_and_errors(world, node):
    world.scripts["ai-sdk whole"] = {
        "content": "Hello.",
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    world.scripts["ai-sdk stream"] = {"content": "One two three.", "token_s": 0.05}
    world.scripts["ai-sdk clock"] = world.scripts["noon in"] = time_of
    command = ["node", SCRIPT.name, world.url, world.key("pia")]
    done = subprocess.run(command, cwd=node, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["whole"] == {"text": "Hello.", "finish": "stop", "tokens": 7}
    assert "".join(seen["stream"]["pieces"]) == "One two three." and len(seen["stream"]["pieces"]) > 1
    assert seen["stream"]["finish"] == "stop" and seen["stream"]["tokens"] > 0
    for run in ("whole", "stream"):
        assert seen[f"tools_{run}"] == {"text": "It is noon.", "calls": [["clock", {"zone": "Kyoto"}]]}
    assert seen["missing"] == {"status": 404, "message": "There is no such model."}
