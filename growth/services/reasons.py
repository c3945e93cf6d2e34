"""Why a cycle ended as it did: every reason of a run in one table, with a sentence for people."""

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
