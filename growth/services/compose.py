"""The composer's part of a cycle: where no language model is configured, plain rules write, and cite."""

from __future__ import annotations

from growth import selectors
from growth.composer import Week, compose
from growth.grounding import verdict
from growth.models import GrowthRun
from growth.services import runs
from growth.services.context import Context
from growth.services.effective import EffectiveSettings
from growth.services.rewrite import Written


def write(run: GrowthRun, context: Context, settings: EffectiveSettings) -> Written:
    """The new self by rule, judged by the same grounding guard as a model's. No call is made."""
    agent = run.agent
    current = selectors.current(run.agent_id)
    week = Week(
        entries=context.entries,
        language=agent.language,
        name=agent.name,
        likes=agent.likes,
        dislikes=agent.dislikes,
        current_text=current.content if current else "",
    )
    made = compose(week)
    texts = [entry.content for entry in context.entries]
    found = verdict(made.self_growth, texts, agent.language, settings.filler_markers)
    said = "abstract" if found.is_abstract else "grounded"
    guard = {"step": 0, "guard": "grounding", "verdict": said, "why": found.why, "shared": list(found.shared)}
    runs.note(run, guards=[guard])
    evidence = [one.as_json() for one in made.evidence]
    return Written(made.self_growth, made.likes, made.dislikes, evidence, is_ungrounded=found.is_abstract)
