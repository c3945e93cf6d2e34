"""System 1 in growth: it classifies when on, looks in audit, and nothing changes without it."""

from __future__ import annotations

import pytest

from growth import opener
from growth.classifier import Asked, Verdict
from growth.judgments import DECISION, GROUNDED
from growth.system_one import SystemOneFirst, look_at_grounding
from judgments.models import LaterAsk, Run
from synth.services import dialogues, memories, people

KINDS = ["approve", "reject", "revise", "none"]


class Behind:
    def __init__(self) -> None:
        self.n = 0

    def classify(self, asked: Asked) -> Verdict:
        self.n += 1
        return Verdict("reject", source="model")


@pytest.fixture
def asked(agent) -> Asked:
    return Asked(agent, "cycle:1", "Make it shorter, please.", "I repair things.", "What do you think?", True)


def test_a_sure_answer_counts_when_it_is_on(judgments, asked):
    judgments.answer(DECISION, [0.02, 0.03, 0.9, 0.05])
    behind = Behind()
    verdict = SystemOneFirst(behind).classify(asked)
    assert (verdict.kind, verdict.source, verdict.feedback) == ("revise", "system_one", asked.message)
    assert behind.n == 0 and judgments.acted(DECISION)[0].value == "revise"
    assert list(Run.objects.get().state) == ["message", "last_line", "proposal"]


@pytest.mark.parametrize("trouble", ["unsure", "failed", "no_host", "off"])
def test_everything_else_goes_to_the_language_model(judgments, asked, trouble):
    judgments.answer(DECISION, [0.5, 0.3, 0.1, 0.1])
    if trouble == "failed":
        judgments.fail(DECISION)
    elif trouble == "no_host":
        judgments.no_host(DECISION)
    elif trouble == "off":
        judgments.mode(DECISION, "off")
    behind = Behind()
    assert SystemOneFirst(behind).classify(asked).source == "model" and behind.n == 1


def test_audit_asks_beside_and_keeps_what_was_decided(judgments, asked):
    judgments.answer(DECISION, [0.97, 0.01, 0.01, 0.01])
    judgments.mode(DECISION, "audit")
    assert SystemOneFirst(Behind()).classify(asked).kind == "reject"
    judgments.wait()
    (label,) = judgments.labels(DECISION)
    assert (label.value, label.by, label.strength) == ("reject", "growth:model", "weak")
    assert Run.objects.get().n_labels == 1 and judgments.asks[0].questions[0].options == tuple(KINDS)


def test_plain_words_need_neither(judgments, agent):
    judgments.answer(DECISION, [1, 0, 0, 0])
    plain = Asked(agent, "cycle:1", "yes", "I repair things.", "Shall I?", True)
    assert opener.classifier().classify(plain).source == "words" and not judgments.asks


def test_grounding_is_looked_at_beside_the_guard(judgments, agent):
    judgments.answer(GROUNDED, 0.9)
    judgments.mode(GROUNDED, "audit")
    look_at_grounding(agent, "cycle:7", "We mended the teapot.", ["Teapot mended."], is_abstract=False)
    judgments.wait()
    run = Run.objects.get()
    assert (run.judgment, run.session_id, run.agent_id) == (GROUNDED, "cycle:7", agent.pk)
    assert judgments.labels(GROUNDED)[0].value == "grounded"
    judgments.mode(GROUNDED, "off")
    look_at_grounding(agent, "cycle:8", "x", [], is_abstract=True)
    assert not LaterAsk.objects.exclude(status="done").exists()


def test_recall_in_a_dialogue_is_looked_at_and_keeps_its_order(judgments, agent):
    judgments.answer("context.candidate", 0.1)
    judgments.mode("context.candidate", "audit")
    memories.write(agent, text="Ana collects tram tickets.")
    memories.write(agent, text="The tram depot has a bakery.")
    dialogue = dialogues.create(agent, people.ensure("jay"))
    plain = memories.recall(agent, "Ana tram", about=None, limit=5)
    assert not LaterAsk.objects.exists()
    found = memories.recall(agent, "Ana tram", about=None, limit=5, session=dialogues.session(dialogue))
    assert [one.memory.pk for one in found] == [one.memory.pk for one in plain]
    judgments.wait()
    assert Run.objects.get().state == {"memory": found[0].memory.text, "talk": "Ana tram"}
