"""What the tests of cycles share: replies, and running what is queued against a scripted host."""

from __future__ import annotations

import json
from typing import Any

from django.apps import apps

from growth.models import GrowthRun, GrowthState
from growth.services import cycle, runs
from synth.testing.scripted_host import ScriptedHost

NOTE = (
    "I glued Jay's blue teapot together on the balcony, and I did not mind that it leaks. "
    "Ana laughed on the phone until the cat ran off; I wrote her four pages about the lighthouse."
)
ABSTRACT = "I continue to learn and grow. Every day I become a better version of myself in many ways."


def reply(text: str = NOTE, **more: Any) -> str:
    """A well-formed reply."""
    return json.dumps({"self_growth": text, "likes": None, "dislikes": None, "evidence": [], **more})


def run_now(agent: Any, *replies: Any, **request: Any) -> tuple[Any, ScriptedHost]:
    """Ask for a cycle and work it off against a host with these replies."""
    with ScriptedHost(replies) as host, host.installed():
        run = runs.request(agent, by=None, door="command", **request)
        cycle.run_waiting()
    run.refresh_from_db()
    return run, host


def current(agent: Any) -> Any:
    return GrowthState.objects.filter(agent=agent, is_current=True).first()


def calls(run: GrowthRun) -> list[Any]:
    found = apps.get_model("synth", "LlmCall").objects.filter(session=f"cycle:{run.pk}")
    return list(found.order_by("at"))


def verdicts(run: GrowthRun) -> list[tuple[str, str]]:
    return [(guard["guard"], guard["verdict"]) for guard in run.guards]
