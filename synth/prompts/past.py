"""Which self said this: the prompt an agent had at some instant, exact where a call is on record.

Exact means the parts of the nearest call at or before the instant. Where there was none, today's layers are
rendered for that instant and the answer says `reconstructed`. What one person's program or turn added to a
call is shown only where their dialogue is asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from synth.models import LlmCall, LlmCallPart
from synth.prompts.assembly import Part, Prompt, assemble, stack
from synth.prompts.layers import Volatility, registered

if TYPE_CHECKING:
    from synth.models import Agent, Person


PRIVATE = ("client", "turn_openers")  # parts that come with one person's turn


@dataclass(frozen=True)
class AsOf:
    """A prompt of the past. `call_id` and `call_at` name the call it was read from, if any."""

    prompt: Prompt
    reconstructed: bool
    call_id: UUID | None = None
    call_at: datetime | None = None


def as_of(
    agent: Agent, purpose: str, at: datetime, *, person: Person | None = None, dialogue: Any = None
) -> AsOf:
    """The prompt at `at`. With a dialogue only that dialogue's calls count (session `dialogue:<id>`)."""
    calls = LlmCall.objects.filter(agent=agent, purpose=purpose, at__lte=at).filter(
        call_parts__layer__gt="", call_parts__role="system"
    )
    if dialogue is not None:
        calls = calls.filter(session=f"dialogue:{getattr(dialogue, 'pk', dialogue)}")
    call = calls.order_by("-at", "-id").first()
    if call is None:
        return AsOf(assemble(agent, purpose, at, person, dialogue), reconstructed=True)
    prompt = _prompt_of(call, hidden=PRIVATE if dialogue is None else ())
    return AsOf(prompt, reconstructed=False, call_id=call.id, call_at=call.at)


def describe(
    agent: Agent,
    purpose: str,
    at: datetime | None = None,
    *,
    person: Person | None = None,
    dialogue: Any = None,
) -> dict[str, Any]:
    """The prompt in the API's shape; without `at` as it is now, and no call is looked for.

    `{fingerprint, text, reconstructed, call_id, call_at, layers: [{name, volatility, chars, text, left_out,
    problem}]}`
    """
    if at is None:
        found = AsOf(assemble(agent, purpose, None, person, dialogue), reconstructed=False)
    else:
        found = as_of(agent, purpose, at, person=person, dialogue=dialogue)
    return {
        "fingerprint": found.prompt.fingerprint,
        "text": found.prompt.text,
        "reconstructed": found.reconstructed,
        "call_id": str(found.call_id) if found.call_id else None,
        "call_at": found.call_at,
        "layers": [_layer(part) for part in found.prompt.parts],
    }


def _layer(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "volatility": part.volatility,
        "chars": part.chars,
        "text": part.text,
        "left_out": part.left_out,
        "problem": part.problem,
    }


def _prompt_of(call: LlmCall, hidden: Collection[str]) -> Prompt:
    """The layers of a saved call. The fingerprint is the call's own, also after a part was forgotten."""
    rows = LlmCallPart.objects.filter(call=call, role="system", layer__gt="").exclude(layer__in=hidden)
    rows = rows.select_related("part")
    known = {layer.name: layer.volatility for layer in registered()}
    parts = [
        Part(row.layer, known.get(row.layer, Volatility.TURN).name, row.part.text, len(row.part.text))
        for row in rows.order_by("position")
    ]
    return Prompt(stack(parts).text, call.fingerprint, parts)
