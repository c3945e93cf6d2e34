"""The first loop on the real process tree: demo agents reflect, restart, the self is in the prompt."""

from __future__ import annotations

import signal
from typing import Any

import httpx
import pytest

from synth.testing.scripted_host import ScriptedHost
from synth.tests.stack.tree import REAL, wait

pytestmark = pytest.mark.slow
OPEN = {"queued", "running"}


def client_of(tree) -> httpx.Client:
    made = tree.manage("create_api_key", "first-day", "--role", "operator")
    key = made.stdout.split()[-1]
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{tree.port}", headers=headers, timeout=20)


def reflect(client: httpx.Client, agent: str, **more: Any) -> dict[str, Any]:
    asked = client.post("/api/growth/runs/", json={"agent": agent, **more})
    assert asked.status_code == 202, asked.text
    path = f"/api/growth/runs/{asked.json()['id']}/"
    assert wait(lambda: client.get(path).json()["status"] not in OPEN, 60), client.get(path).text
    return dict(client.get(path).json())


def prompt(client: httpx.Client, agent: str) -> str:
    return str(client.get(f"/api/agents/{agent}/prompt/", params={"purpose": "chat"}).json()["text"])


def test_the_demo_agents_reflect_and_still_have_their_selves_after_a_kill_and_a_restart(new_tree):
    tree = new_tree(script=REAL).start()
    client = client_of(tree)
    selves = {}
    for agent in ("wren", "minato"):
        dry = reflect(client, agent, dry_run=True)
        assert (dry["status"], dry["state"]) == ("dry_run", None)
        run = reflect(client, agent)
        assert (run["status"], run["n_calls"]) == ("applied", 0), run
        current = client.get(f"/api/agents/{agent}/growth/").json()["current"]
        diary = " ".join(row["content"] for row in pages(client, f"/api/agents/{agent}/diary/?limit=200"))
        states = client.get("/api/growth/states/", params={"agent": agent}).json()["results"]
        assert states[0]["evidence"]
        assert all(cited["quote"] in diary for cited in states[0]["evidence"])
        assert current["content"] in prompt(client, agent)
        selves[agent] = current["content"]
    tree.signal(signal.SIGKILL)
    assert wait(lambda: not tree.pids(), 20)

    tree.start()
    for agent, content in selves.items():
        assert content in prompt(client, agent)
        assert len(client.get("/api/growth/states/", params={"agent": agent}).json()["results"]) == 1
    assert tree.signal() == 0


def test_a_language_model_writes_once_its_address_is_given(new_tree):
    note = (
        "Jay and I listened to the Old Lodger again this week, and Mrs Okafor brought the last letters. "
        "Ana read them aloud in the kitchen, and I kept quiet."
    )
    with ScriptedHost(["not json", f'{{"self_growth": "{note}", "likes": ["the cello"]}}']) as host:
        tree = new_tree(script=REAL, LLM_BASE_URL=host.base_url).start()
        client = client_of(tree)
        run = reflect(client, "wren")
        assert (run["status"], run["n_calls"], len(run["calls"])) == ("applied", 2, 2), run
        assert note in prompt(client, "wren")
        assert client.get("/api/agents/wren/").json()["likes"] == ["the cello"]
        assert "Cooper's Steps" in host.requests[0].text
    assert tree.signal() == 0


def pages(client: httpx.Client, url: str | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while url:
        page = client.get(url).json()
        rows += page["results"]
        url = page["next"]
    return rows
