"""Proposal, a decision through each door, the next prompt: on the real process tree, with restarts."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from synth.stack import logins
from synth.stack.home import Home
from synth.testing.scripted_host import ScriptedHost
from synth.tests.stack.tree import REAL, Tree, wait

pytestmark = pytest.mark.slow
OPEN = {"queued", "running"}
JUDGE = "waits for the decision of its trainer"
NOTES = [
    f"Jay and I went through letter {word} with Mrs Okafor, and Ana read it aloud by the tin."
    for word in ("ninety", "ninety-one", "ninety-two", "ninety-three", "ninety-four")
]


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "home", script=REAL)
    yield made
    made.destroy()


class Host:
    """Answers each kind of call by what is in it, so that the order of calls does not matter."""

    def __init__(self) -> None:
        self.notes = list(NOTES)
        self.verdicts: dict[str, dict[str, str]] = {}

    def __call__(self, request: dict[str, Any]) -> Any:
        text = json.dumps(request["messages"], ensure_ascii=False)
        if JUDGE in text:
            verdicts = (verdict for said, verdict in self.verdicts.items() if said in text)
            return json.dumps(next(verdicts, {"decision": "none", "feedback": ""}))
        if request.get("tools"):
            return "I have heard you."
        return json.dumps({"self_growth": self.notes.pop(0), "likes": ["letters"], "dislikes": None})


def http(tree: Tree, role: str, username: str) -> httpx.Client:
    key = tree.manage("create_api_key", username, "--role", role).stdout.split()[-1]
    return httpx.Client(
        base_url=f"http://127.0.0.1:{tree.port}", headers={"Authorization": f"Bearer {key}"}, timeout=30
    )


def propose(client: httpx.Client) -> dict[str, Any]:
    asked = client.post("/api/growth/runs/", json={"agent": "wren"})
    assert asked.status_code == 202, asked.text
    path = f"/api/growth/runs/{asked.json()['id']}/"
    assert wait(lambda: client.get(path).json()["status"] not in OPEN, 60)
    run = client.get(path).json()
    assert run["status"] == "proposed", run
    listed = client.get("/api/growth/proposals/", params={"agent": "wren", "status": "pending"}).json()
    (pending,) = listed["results"]
    return dict(pending)


def current(client: httpx.Client) -> str:
    found = client.get("/api/agents/wren/growth/").json()["current"]
    return str(found["content"]) if found else ""


def prompt(client: httpx.Client) -> str:
    return str(client.get("/api/agents/wren/prompt/", params={"purpose": "chat"}).json()["text"])


def inbox_has(client: httpx.Client, text: str) -> bool:
    return any(
        text in row["body"] for row in client.get("/api/inbox/", params={"after": 0}).json()["results"]
    )


def test_a_proposal_is_approved_by_rest_chat_and_admin_and_each_self_is_in_the_next_prompt(tree):
    script = Host()
    script.verdicts = {
        "va bene": {"decision": "approve", "feedback": ""},
        "more concrete": {"decision": "revise", "feedback": "make it more concrete"},
    }
    with ScriptedHost(script) as host:
        tree.env["LLM_BASE_URL"] = host.base_url
        tree.start()
        trainer = http(tree, "trainer", "trainer")
        set_mode = trainer.patch("/api/agents/wren/growth/", json={"mode": "request"})
        assert set_mode.status_code == 200, set_mode.text

        # REST, with a restart between proposal and decision.
        first = propose(trainer)
        assert wait(lambda: inbox_has(trainer, first["content"]), 30)
        assert first["content"] in prompt(trainer) and current(trainer) == ""
        assert tree.signal() == 0
        tree.start()
        done = trainer.post(f"/api/growth/proposals/{first['id']}/approve/", json={"hash": first["hash"]})
        assert done.status_code == 200, done.text
        again = trainer.post(f"/api/growth/proposals/{first['id']}/approve/", json={})
        assert (again.status_code, again.json()["error"]["code"]) == (409, "already_approved")
        assert current(trainer) == first["content"]
        assert prompt(trainer).count(first["content"]) == 1

        # Chat: an unrelated message, a wish, then a yes in another language.
        second = propose(trainer)
        assert wait(lambda: inbox_has(trainer, second["content"]), 30)
        dialogue = trainer.post("/api/dialogues/", json={"agent": "wren"}).json()["id"]
        say(trainer, dialogue, "How is the tide today?")
        assert current(trainer) == first["content"]
        say(trainer, dialogue, "make it more concrete")
        assert wait(lambda: pending_id(trainer) not in (second["id"], None), 60)
        third = trainer.get(f"/api/growth/proposals/{pending_id(trainer)}/").json()
        assert wait(lambda: inbox_has(trainer, third["content"]), 30)
        say(trainer, dialogue, "va bene, per me così")
        assert current(trainer) == third["content"]

        # The admin site, in another process of the same stack.
        fourth = propose(trainer)
        assert tree.signal() == 0
        tree.start()
        approve_in_admin(tree, fourth["id"])
        assert current(trainer) == fourth["content"]
        assert prompt(trainer).count(fourth["content"]) == 1
        assert pending_id(trainer) is None
    assert tree.signal() == 0


def pending_id(client: httpx.Client) -> int | None:
    listed = client.get("/api/growth/proposals/", params={"agent": "wren", "status": "pending"}).json()
    return listed["results"][0]["id"] if listed["results"] else None


def say(client: httpx.Client, dialogue: str, content: str) -> None:
    answer = client.post("/api/chat/", json={"dialogue": dialogue, "content": content})
    assert answer.status_code == 200, answer.text


def approve_in_admin(tree: Tree, proposal: int) -> None:
    """Log in as the demo trainer and press Approve on the proposal's page."""
    password = logins.read(Home(tree.home))["trainer"]
    with httpx.Client(base_url=f"http://127.0.0.1:{tree.port}", follow_redirects=True, timeout=30) as browser:
        page = browser.get("/admin/login/")
        form = {"username": "trainer", "password": password, "csrfmiddlewaretoken": token(page.text)}
        browser.post("/admin/login/?next=/admin/", data=form)
        url = f"/admin/growth/proposal/{proposal}/change/"
        page = browser.get(url)
        shown = re.search(r'name="(?:shown_)?hash" value="([0-9a-f]{64})"', page.text)
        assert shown, page.text[:3000]
        approve = re.search(r'action="([^"]*approve[^"]*)"', page.text)
        assert approve, page.text[:3000]
        name = shown.group(0).split('"')[1]
        form = {"csrfmiddlewaretoken": token(page.text), name: shown.group(1)}
        answer = browser.post(approve.group(1), data=form, headers={"Referer": str(browser.base_url) + url})
        assert answer.status_code == 200, answer.text[:2000]


def token(html: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', html)
    assert found
    return found.group(1)
