"""The selves of an agent: committing a new one, going back to an old one, editing by hand.

A commit is one transaction under the lock of the agent's settings row: the current row is demoted, the new
one inserted, the agent's live lists set, all but the newest ten rows removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.timezone import now

from growth.models import GrowthState, StateSource
from growth.services.effective import lock
from synth import faults
from synth.errors import NotFound, Refused
from synth.services import agents, audit, fields, outbox

if TYPE_CHECKING:
    from synth.models import Agent, Person

MAX_GROWTH_HISTORY = 10
MAX_CHARS = 2000
MAX_MANUAL_CHARS = 4_000

faults.declare("growth.state.before", "a new self is written, its transaction is still open")


def content_hash(content: str, likes: Sequence[str], dislikes: Sequence[str]) -> str:
    """SHA-256 (hex) over text and lists: what a decision about a self is bound to."""
    canonical = json.dumps([content, list(likes), list(dislikes)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def commit(
    agent: Agent,
    *,
    content: str,
    likes: Sequence[str] | None,
    dislikes: Sequence[str] | None,
    source: str,
    created_by: str,
    by: Person | None = None,
    door: str = "task",
    evidence: Sequence[dict[str, Any]] = (),
    is_ungrounded: bool = False,
    at: datetime | None = None,
) -> GrowthState:
    """Make a new current self; call it inside the transaction of what caused it, or alone.

    None for a list keeps the live one. Raises Refused (`blank_growth`) for a blank text that is not manual.
    """
    if not content.strip() and source != StateSource.MANUAL:
        raise Refused(
            "A blank reflection is never saved automatically.", code="blank_growth", field="content"
        )
    with transaction.atomic():
        live = lock(agent).agent
        new_likes = list(live.likes if likes is None else likes)
        new_dislikes = list(live.dislikes if dislikes is None else dislikes)
        old = GrowthState.objects.filter(agent_id=agent.pk, is_current=True).first()
        GrowthState.objects.filter(agent_id=agent.pk, is_current=True).update(is_current=False)
        state = GrowthState.objects.create(
            agent_id=agent.pk,
            content=content,
            likes=new_likes,
            dislikes=new_dislikes,
            source=source,
            created_by=created_by,
            is_current=True,
            evidence=list(evidence),
            is_ungrounded=is_ungrounded,
            content_hash=content_hash(content, new_likes, new_dislikes),
            created_at=at or now(),
        )
        if (new_likes, new_dislikes) != (live.likes, live.dislikes):
            agents.set_lists(live, likes=new_likes, dislikes=new_dislikes, by=by, door=door)
        _prune(agent.pk)
        audit.record(
            by,
            door=door,
            action="growth_state_commit",
            object=f"growth.growthstate:{state.pk}",
            agent=live,
            before=_trace(old),
            after=_trace(state),
        )
        outbox.publish(
            "growth.state_committed", {"agent_id": agent.pk, "state_id": state.pk, "source": str(source)}
        )
        faults.point("growth.state.before")
    return state


def restore(state_id: int, *, by: Person | None, door: str) -> GrowthState:
    """A new current self with the text and the lists of an old one. NotFound when it was pruned meanwhile."""
    found = GrowthState.objects.select_related("agent").filter(pk=state_id).first()
    if found is None:
        raise NotFound("There is no such growth state.")
    with transaction.atomic():
        lock(found.agent)
        old = GrowthState.objects.filter(pk=state_id).first()
        if old is None:
            raise NotFound("This growth state was pruned meanwhile.")
        source = StateSource.REVERT if old.content.strip() else StateSource.MANUAL
        return commit(
            found.agent,
            content=old.content,
            likes=old.likes,
            dislikes=old.dislikes,
            source=source,
            created_by=_name(by),
            by=by,
            door=door,
            evidence=old.evidence,
            is_ungrounded=old.is_ungrounded,
        )


def manual_edit(
    agent: Agent,
    *,
    content: str | None = None,
    likes: Any = None,
    dislikes: Any = None,
    by: Person | None,
    door: str,
) -> GrowthState:
    """A new current self written by a person; what is None stays as it is. A blank text clears it."""
    text = None if content is None else _checked_text(content)
    new_likes, new_dislikes = _checked_list("likes", likes), _checked_list("dislikes", dislikes)
    if new_likes is not None and new_dislikes is not None:
        liked = {item.casefold() for item in new_likes}
        new_dislikes = [item for item in new_dislikes if item.casefold() not in liked]
    with transaction.atomic():
        lock(agent)
        current = GrowthState.objects.filter(agent_id=agent.pk, is_current=True).first()
        kept = current is not None and text == current.content
        return commit(
            agent,
            content=(current.content if current else "") if text is None else text,
            likes=new_likes,
            dislikes=new_dislikes,
            source=StateSource.MANUAL,
            created_by=_name(by),
            by=by,
            door=door,
            evidence=current.evidence if current and (kept or text is None) else (),
        )


def manual_clear(agent: Agent, *, by: Person | None, door: str) -> GrowthState:
    """A new, blank current self: the layer leaves every prompt. The live lists stay."""
    return manual_edit(agent, content="", by=by, door=door)


def _checked_text(value: Any) -> str:
    return fields.text(value, "content", max_chars=MAX_MANUAL_CHARS).strip()


def _checked_list(field: str, value: Any) -> list[str] | None:
    return None if value is None else fields.items(value, field)


def _prune(agent_id: int) -> None:
    """Keep the newest ten by order of writing: a clock that steps back must not push the current one out."""
    old = GrowthState.objects.filter(agent_id=agent_id).order_by("-pk").values_list("pk", flat=True)
    GrowthState.objects.filter(pk__in=list(old[MAX_GROWTH_HISTORY:]), is_current=False).delete()


def _trace(state: GrowthState | None) -> dict[str, Any] | None:
    """What the audit keeps of a self: never its text, which a forget could not reach there."""
    if state is None:
        return None
    return {"state": state.pk, "hash": state.content_hash, "likes": state.likes, "dislikes": state.dislikes}


def _name(by: Person | None) -> str:
    return by.username if by else "command"
