"""What persons allowed for longer than once: given with a decision, matched by the whole key, revoked."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.timezone import now

from synth import selectors
from synth.errors import Conflict, NotFound
from synth.models import Approval, ApprovalGrant
from synth.schemas import Caller
from synth.services import audit


def match(row: Approval, *, is_narrow: bool = False) -> ApprovalGrant | None:
    """The grant that allows this, or None. `is_narrow`: only one for exactly these arguments counts."""
    keys = [scope["key"] for scope in row.scopes]
    held = ApprovalGrant.objects.filter(person=row.person, agent=row.agent, revoked_at=None)
    here = Q(dialogue=None) | Q(dialogue=row.dialogue)
    return held.filter(here, key__in=keys[:1] if is_narrow else keys).order_by("id").first()


def give(row: Approval, scope: int, *, in_dialogue: bool) -> ApprovalGrant:
    """Allow the scope of that index from now on: in this dialogue, or wherever the two talk. Repeatable."""
    chosen = row.scopes[scope]
    found, _ = ApprovalGrant.objects.get_or_create(
        person=row.person,
        agent=row.agent,
        dialogue=row.dialogue if in_dialogue else None,
        key=chosen["key"],
        revoked_at=None,
        defaults={"text": chosen["text"], "approval": row},
    )
    return found


def seen(caller: Caller) -> QuerySet[ApprovalGrant]:
    """The caller's own; all for an operator; none for an app that would act for more than a plain person."""
    rows = ApprovalGrant.objects.select_related("agent", "person", "approval")
    if caller.is_operator:
        return rows
    if caller.app is not None and not selectors.is_plain(caller.person):
        return rows.none()
    return rows.filter(person=caller.person)


def revoke(grant_id: int, *, by: Caller, door: str) -> ApprovalGrant:
    """Take a grant back; what it allowed is asked for again. NotFound; Conflict `already_revoked`."""
    row = seen(by).filter(pk=grant_id).first()
    if row is None:
        raise NotFound("There is no such grant.", code="grant_not_found")
    with audit.refusals(by.person, door=door, action="approval_grant_revoke", object=row, agent=row.agent):
        with transaction.atomic():
            at = now()
            held = ApprovalGrant.objects.filter(pk=row.pk, revoked_at=None)
            if held.update(revoked_at=at) == 0:
                row.refresh_from_db()
                since = row.revoked_at.isoformat() if row.revoked_at else None
                raise Conflict("This grant was taken back before.", code="already_revoked", at=since)
            audit.record(
                by.person, door=door, action="approval_grant_revoke", object=row, agent=row.agent,
                before={"key": row.key}, after=None,
            )  # fmt: skip
    row.revoked_at = at
    return row
