"""What the tests of proposals share: one waiting to be decided, its delivery, a chat with its agent."""

from __future__ import annotations

import json
from typing import Any

from django.apps import apps
from django.db import close_old_connections, connection

from growth.models import Proposal
from growth.services import proposals, settings
from growth.tests.cycles import NOTE, reply, run_now
from reminders.services import carrying
from synth.services import dialogues, draining, turns
from synth.testing.scripted_host import ScriptedHost

CONCRETE = (
    "I glued the handle of Jay's blue teapot on the balcony. It leaks, so now it is a flower pot. "
    "I wrote Ana four pages about the lighthouse while it rained."
)


def ask_first(agent: Any) -> None:
    """Put the agent in mode request."""
    settings.change(agent, {"mode": "request"}, by=None, door="command")


def propose(agent: Any, text: str = NOTE, **more: Any) -> Any:
    """A cycle in mode request; the proposal that came of it."""
    ask_first(agent)
    run, _ = run_now(agent, reply(text, **more))
    assert run.status in ("proposed", "undelivered"), (run.status, run.reason, run.detail)
    return Proposal.objects.filter(run=run).order_by("-pk").first()


def deliver() -> None:
    """Carry what waits and let growth hear of it."""
    carrying.drain_all()
    draining.drain()


def again(proposal: Any) -> Any:
    """The row as it is now."""
    return Proposal.objects.get(pk=proposal.pk)


def audits(**where: Any) -> list[tuple[str, str, str, str]]:
    rows = apps.get_model("synth", "AuditEntry").objects.filter(**where).order_by("pk")
    return [(row.actor_label, row.door, row.outcome, row.reason) for row in rows]


def states_of(agent: Any) -> list[Any]:
    return list(apps.get_model("growth", "GrowthState").objects.filter(agent=agent).order_by("pk"))


def inbox(person: Any) -> list[Any]:
    rows = apps.get_model("reminders", "Delivery").objects.filter(person=person)
    return list(rows.order_by("pk"))


def chat_with(agent: Any, person: Any, **values: Any) -> Any:
    return dialogues.create(agent, person, **values)


def verdict(decision: str, feedback: str = "") -> str:
    """What the classifying model answers."""
    return json.dumps({"decision": decision, "feedback": feedback})


def calls_action(name: str, payload: str = "{}") -> dict[str, Any]:
    """A reply that asks for an action as a tool call."""
    return {
        "content": "",
        "tool_calls": [{"name": name, "arguments": payload}],
        "finish_reason": "tool_calls",
    }


def say(dialogue: Any, person: Any, text: str, *replies: Any, **more: Any) -> tuple[Any, ScriptedHost]:
    """One chat turn against a host with these replies."""
    with ScriptedHost(replies) as host, host.installed():
        answer = turns.take(dialogue, person, text, **more)
    return answer, host


def prompt_of(host: ScriptedHost, n: int = -1) -> str:
    """All that was sent with the nth call."""
    return "\n".join(str(message["content"]) for message in host.requests[n].json["messages"])


def rewrite_with(*replies: Any) -> ScriptedHost:
    """Work off the waiting revisions against a host with these replies."""
    with ScriptedHost(replies) as host, host.installed():
        proposals.revise_waiting()
    return host


def in_thread(work: Any) -> Any:
    """`work` wrapped for a thread: its own connection, closed at the end; what it raises is its result."""

    def run() -> Any:
        close_old_connections()
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the test looks at what was raised
            return error
        finally:
            connection.close()

    return run
