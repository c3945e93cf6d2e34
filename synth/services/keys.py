"""API keys: issued once in plain, kept as a hash, found again by it, revoked."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from synth.errors import Conflict, Invalid, Refused
from synth.models import ApiKey, Door, Person, Role
from synth.net.prepared import Prepared
from synth.schemas import IssuedKey
from synth.services import audit, fields

SCOPES = ("chat", "systemone", "signals")
LAST_USED_EVERY = timedelta(minutes=1)
MAX_KEY_CHARS = 200
_LIVING = Prepared(
    lambda digest: ApiKey.objects.select_related("person").filter(sha256=digest, revoked_at=None),
    digest=str,
)


def _sha256(plain: str) -> str:
    # A fast hash is enough: the secret has 256 random bits, nobody guesses it from its hash.
    return hashlib.sha256(plain.encode()).hexdigest()


def issue(
    person: Person,
    *,
    role: str,
    name: str = "",
    scopes: Iterable[str] = (),
    by: Person | None = None,
    door: str = Door.COMMAND,
) -> IssuedKey:
    """A new key and its plain text, which nobody sees again.

    `scopes` narrow an app key to some of `SCOPES` (none given: all). Refused for a role above its person.
    """
    if role not in Role.values:
        raise Invalid(f"One of {', '.join(Role.values)} is needed.", field="role")
    if role == Role.OPERATOR and not person.is_operator:
        raise Refused("Only an operator can have an operator key.", code="role_exceeds_person", field="role")
    if person.archived_at is not None:
        raise Refused("An archived person gets no key.", code="person_archived")
    prefix = secrets.token_hex(4)
    plain = f"synth_{prefix}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        key = ApiKey.objects.create(
            person=person,
            name=fields.one_line(name, "name", max_chars=100),
            role=role,
            scopes=_scopes(scopes, role),
            prefix=prefix,
            sha256=_sha256(plain),
        )
        audit.record(
            by,
            door=door,
            action="key_issue",
            object=f"synth.apikey:{key.pk}",
            after={"person": person.username, "role": role, "prefix": prefix, "scopes": key.scopes},
        )
    return IssuedKey(key=key, plain=plain)


def _scopes(scopes: Iterable[str], role: str) -> list[str]:
    wanted = sorted(set(scopes))
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise Invalid(f"{unknown[0]} is not one of {', '.join(SCOPES)}.", field="scopes")
    if wanted and role != Role.APP:
        raise Invalid("Only app keys have scopes.", field="scopes")
    return wanted


def authenticate(plain: str) -> ApiKey | None:
    """The living key with its person, or None: unknown, revoked, or its person is switched off."""
    if len(plain) > MAX_KEY_CHARS or not plain.isascii():
        return None
    digest = _sha256(plain)
    key = _LIVING.first(digest=digest)
    if key is None or not hmac.compare_digest(key.sha256, digest):
        return None
    if key.person.archived_at is not None or not key.person.is_active:
        return None
    _note_use(key)
    return key


def _note_use(key: ApiKey) -> None:
    """Write `last_used_at` at most once a minute, so that a busy key costs no row version a request."""
    at = now()
    if key.last_used_at is not None and at - key.last_used_at < LAST_USED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lt=at - LAST_USED_EVERY)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=at)
    key.last_used_at = at


def revoke(key: ApiKey, *, by: Person | None, door: str) -> None:
    """Close the key for good. Conflict when it is already revoked."""
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now()):
            raise Conflict("The key is already revoked.", code="already_revoked")
        audit.record(
            by, door=door, action="key_revoke", object=f"synth.apikey:{key.pk}", after={"prefix": key.prefix}
        )
    key.refresh_from_db()
