"""Why a cycle or a rewriting ended as it did: every reason in one table each, with a sentence for people."""

from __future__ import annotations

EXPLANATIONS: dict[str, str] = {
    "missed": "It was due while nothing was running, and by now it is 48 hours or more too late.",
    "no_diary": "There is no diary entry in the days looked back on. Nothing was asked, nothing changed.",
    "mode_off": "Growth was switched off before it was done. Nothing changed.",
    "agent_archived": "The agent is archived. Nothing changed.",
    "bad_shape": "The model answered twice in a form that could not be used. Nothing changed.",
    "content_filter": "The model's host refused to answer because of its content filter. Nothing changed.",
    "llm_unreachable": "The model's host did not answer, also after three more tries. Nothing changed.",
    "llm_refused": "The model's host refused the request; its settings may be wrong. Nothing changed.",
    "spend_cap": "The agent's tokens for today are spent. Nothing changed.",
    "local_only": "The agent may only use models on this machine, and the configured one is elsewhere.",
    "no_language_model": "The language model was taken away meanwhile. Nothing changed.",
    "nobody_to_ask": "The agent has no trainer and no address to send to. The proposal waits to be decided.",
    "bad_target": "The address for proposals cannot be used. The proposal waits to be decided.",
    "delivery_failed": "The proposal reached nobody, after all tries. It waits to be decided.",
    "gave_up": "The work on it died several times. Nothing changed.",
    "internal_error": "Something broke; the log has it under this run. Nothing changed.",
}

# Why a revision came to nothing.
REVISIONS: dict[str, str] = {
    "bad_shape": "The model answered twice in a form that could not be used.",
    "content_filter": "The model's host refused to answer because of its content filter.",
    "llm_unreachable": "The model's host did not answer, also after three more tries.",
    "llm_refused": "The model's host refused the request; its settings may be wrong.",
    "spend_cap": "The agent's tokens for today are spent.",
    "local_only": "The agent may only use models on this machine, and the configured one is elsewhere.",
    "no_language_model": "The language model was taken away meanwhile.",
    "already_decided": "The proposal was decided, or ran out, before the rewriting was done.",
    "agent_archived": "The agent is archived.",
    "gave_up": "The work on it died several times.",
    "internal_error": "Something broke; the log has it.",
}
