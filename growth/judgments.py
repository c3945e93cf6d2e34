"""The judgments growth asks: what a trainer's message decides, and whether the diary carries a reflection."""

from __future__ import annotations

from judgments import core_questions, registry

DECISION = "growth.decision"
GROUNDED = "growth.grounded"

# Asked in the turn it belongs to, so a turn on the same server is no reason to skip it.
registry.declare(DECISION, questions=core_questions.of(DECISION), shared_host="ask")
registry.declare(
    GROUNDED,
    questions=core_questions.of(GROUNDED),
    positive="grounded",
    negative="abstract",
    shared_host="ask",
)
