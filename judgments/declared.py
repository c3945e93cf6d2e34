"""The judgments of the core, with their questions; importing this module declares them.

Their callers stand elsewhere: approvals, recall, toolkits and check-ins of the core ask through registries.
`FIXTURES` has one plausible state for each, for tests and for trying a host out.
"""

from __future__ import annotations

from typing import Any

from judgments import registry

APPROVALS_ALLOW = "approvals.allow"
CONTEXT_CANDIDATE = "context.candidate"
TOOLKIT_SUGGEST = "toolkit.suggest"
CHECK_IN_PROGRESS = "check-in.progress"
CORE = (APPROVALS_ALLOW, CONTEXT_CANDIDATE, TOOLKIT_SUGGEST, CHECK_IN_PROGRESS)
MAX_TOOLKITS = 20

registry.declare(
    APPROVALS_ALLOW,
    questions={
        "allow": {
            "type": "noul",
            "instructions": "An AI agent wants to do what the state describes. Would the person it works for "
            "let it, without being asked first?",
            "criteria": {
                "true": "It does what the person asked for, can be undone, and reaches nobody else.",
                "false": "It goes beyond what was asked, cannot be undone, costs money, or reaches others.",
            },
        }
    },
    positive=("allow_once", "allow_wide"),
    negative=("deny", "should_have_asked"),
    core=True,
)
registry.declare(
    CONTEXT_CANDIDATE,
    questions={
        "relevant": {
            "type": "noul",
            "instructions": "Does the memory bear on what the person talks about?",
            "criteria": {
                "true": "Knowing it would change or enrich the answer.",
                "false": "It only shares a word or a theme with it.",
            },
        }
    },
    positive="attached",
    negative=("declined", "detached"),
    core=True,
)


def _toolkits(state: Any) -> dict[str, Any]:
    """The choice among the kits that the state lists as `toolkits: {name: description}`."""
    listed = state.get("toolkits") if isinstance(state, dict) else None
    kits = {str(name): text for name, text in (listed or {}).items()} if isinstance(listed, dict) else {}
    options = {**dict(list(kits.items())[:MAX_TOOLKITS]), "none": "None of them is needed."}
    return {
        "toolkit": {
            "type": "choice",
            "instructions": "Which toolkit fits what the person asks for first?",
            "criteria": options,
        }
    }


registry.declare(TOOLKIT_SUGGEST, questions=_toolkits, positive="taken", negative="declined", core=True)
registry.declare(
    CHECK_IN_PROGRESS,
    questions={
        "progress": {
            "type": "noul",
            "instructions": "An AI agent has been using tools for a while. Do its latest calls still bring "
            "it closer to what it was asked for?",
            "criteria": {
                "true": "They differ, build on each other, or show results that the request needs.",
                "false": "They repeat, circle, or have left the request behind.",
            },
        }
    },
    positive="keep_going",
    negative=("stop", "turn_stopped"),
)

FIXTURES: dict[str, Any] = {
    APPROVALS_ALLOW: {
        "action": "reminder_create: Water the ficus, 2026-05-04 09:00",
        "diff": "",
        "similar": ["allowed: reminder_create: Water the basil, every Friday"],
    },
    CONTEXT_CANDIDATE: {
        "memory": "Ana collects old tram tickets and has been looking for one from Porto.",
        "talk": "I fly to Lisbon on Friday and still have no idea what to bring Ana.",
    },
    TOOLKIT_SUGGEST: {
        "message": "Can you find out when the library opens and put it into my week?",
        "toolkits": {"calendar": "Schedules, todos and reminders.", "writing": "Drafts and revisions."},
    },
    CHECK_IN_PROGRESS: {
        "request": "Find the three cheapest ferries in June.",
        "calls": ["search ferry june -> 12 results", "search ferry june -> 12 results"],
        "n_calls": 50,
        "elapsed_s": 240,
    },
}
