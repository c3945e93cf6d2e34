"""One real process tree, its model a scripted host, and people with keys; shared by the tests of a module."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from synth.testing.scripted_host import ScriptedHost
from synth.tests.stack.tree import REAL, Tree

AGENT = "wren"
Script = Callable[[dict[str, Any]], Any]


@dataclass
class World:
    """The tree, its model's host, and what it answers: the first script whose mark the request holds."""

    tree: Tree
    host: ScriptedHost
    scripts: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def __call__(self, request: dict[str, Any]) -> Any:
        text = json.dumps(request["messages"][-1], ensure_ascii=False)
        for mark, script in self.scripts.items():
            if mark in text:
                return script(request) if callable(script) else script
        return "I have heard you."

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.tree.port}"

    def key(self, username: str, role: str = "person") -> str:
        """A key of that person; the person is made where missing."""
        if username not in self.keys:
            made = self.tree.manage("create_api_key", username, "--role", role)
            self.keys[username] = made.stdout.split()[-1]
        return self.keys[username]

    def http(self, username: str = "pia", role: str = "person") -> httpx.Client:
        """A client of the REST API."""
        headers = {"Authorization": f"Bearer {self.key(username, role)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)

    def prompts(self, mark: str) -> list[list[dict[str, Any]]]:
        """The messages of every request to the model that hold the mark."""
        asked = [request.json["messages"] for request in self.host.requests]
        return [messages for messages in asked if mark in json.dumps(messages, ensure_ascii=False)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    scripts: dict[str, Any] = {}
    made: list[World] = []
    with ScriptedHost(lambda request: made[0](request)) as host:
        env = {
            "LLM_BASE_URL": host.base_url, "LLM_MODEL": "scripted",
            "RATE_PER_KEY": "0", "CHECK_IN_EVERY": "16",
        }  # fmt: skip
        tree = Tree(tmp_path_factory.mktemp("clients") / "home", script=REAL, **env)
        made.append(World(tree, host, scripts))
        try:
            tree.start()
            yield made[0]
        finally:
            tree.destroy()
