"""Every error code growth gives beside those named after a status, with a sentence for people.

Codes are stable: clients decide by them. Why a run or a revision ended as it did is in
`growth.services.reasons`; what a model is told is in `growth.actions.REFUSALS`.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "agent_archived": "The agent is put away; it neither reflects nor changes.",
    "already_approved": "The proposal was approved before; `by` and `at` say by whom and when.",
    "already_expired": "The proposal ran out before anybody decided it.",
    "already_rejected": "The proposal was rejected before; `by` and `at` say by whom and when.",
    "already_stale": "The proposal was found to be written against an older self or older lists.",
    "already_superseded": "A newer proposal took its place.",
    "bad_target": "The dialogue is with another agent; never seen over REST, the proposal is undelivered.",
    "blank": "What is to be applied may not be blank.",
    "blank_growth": "A blank reflection is never saved automatically.",
    "cycle_running": "A cycle of the agent is queued or running; `run` names it.",
    "hash_changed": "The proposal is not the text that was shown; `hash` is what it is now.",
    "mode_off": "Growth is off for the agent, and the request did not force it.",
    "no_language_model": "No language model is there to rewrite it.",
    "overridden_by_env": "A variable in the environment wins over this setting.",
    "revision_running": "The proposal is being rewritten; `revision` names the request.",
    "stale": "The self or the lists changed since the proposal was written; nothing was applied.",
    "unknown_field": "There is no such setting.",
}
