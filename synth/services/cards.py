"""Agents from character cards, and back: what a card says that nobody here knows is kept as it came."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from synth import faults
from synth.cards import card as cards
from synth.cards import charx, png
from synth.cards.card import BadCard, Card
from synth.errors import Conflict, DomainError, Invalid
from synth.models import Agent, CharacterCard, Person
from synth.services import agents, fields, memories

MAX_KIB = 16 * 1024
FORMATS = ("json", "png", "charx")
MAX_GREETING_CHARS = 32_000
# Placeholders and notes may fill a card beyond what stays of it, but not to this.
_MAX_RAW_CHARS = 4 * agents.MAX_PERSONA_CHARS
TYPES = {"json": "application/json", "png": "image/png", "charx": "application/zip"}
_MAIN_IMAGE = "assets/icon/images/main.png"
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
faults.declare("cards.import.before", "an agent from a card is made, the transaction is still open")


@dataclass(frozen=True)
class Imported:
    """The new agent, what of the card was passed over, and what its `extensions.synth` said."""

    agent: Agent
    warnings: list[str]
    extension: Mapping[str, Any]


@dataclass(frozen=True)
class Exported:
    """A file to hand out."""

    data: bytes
    content_type: str
    filename: str


@dataclass(frozen=True)
class _File:
    text: str
    picture: bytes | None = None
    archive: bytes | None = field(default=None, repr=False)


def import_card(raw: bytes, *, slug: str = "", by: Person | None, door: str) -> Imported:
    """Make an agent of a card in any of its forms; its book becomes memories of the kind `lore`.

    Without `slug` the name gives one. Invalid names the field; Conflict `slug_taken`.
    """
    found = _unpacked(raw)
    try:
        card = cards.read(found.text)
    except BadCard as error:
        raise Invalid(str(error), field=error.field, code="bad_card") from None
    warnings = list(card.warnings)
    values = {**_persona(card), **_extension(card, warnings)}
    with transaction.atomic():
        agent = _created(card, slug, values, by, door)
        CharacterCard.objects.create(
            agent=agent, text=found.text, picture=found.picture, archive=found.archive
        )
        warnings += _keep_lore(agent, card)
        faults.point("cards.import.before")
    return Imported(agent, warnings, card.extension)


def export_card(agent: Agent, form: str, extension: Mapping[str, Any]) -> Exported:
    """The agent's card as a file. `extension` goes into `extensions.synth` beside its lists and its zone."""
    row = CharacterCard.objects.filter(agent=agent).first()
    card = cards.read(row.text) if row else None
    ours = {
        "likes": agent.likes,
        "dislikes": agent.dislikes,
        "timezone": agent.timezone,
        "language": agent.language,
        **extension,
    }
    # The widest readers of pictures know only the second version, those of archives only the third.
    spec = cards.V3 if form == "charx" else ""
    text = cards.write(card, name=agent.name, persona=agent.persona, extension=ours, spec=spec)
    return Exported(_packed(form, text, agent, row), TYPES[form], f"{agent.slug}.{form}")


def greetings(agent: Agent, user: str) -> list[str]:
    """What the agent may say first, by its card, each of 32,000 characters at most; else none."""
    row = CharacterCard.objects.filter(agent=agent).only("text").first()
    if row is None:
        return []
    card = cards.read(row.text)
    filled = (card.filled(raw[:MAX_GREETING_CHARS], user) for raw in card.greetings)
    return [text for text in filled if text]


def _unpacked(raw: bytes) -> _File:
    if not raw:
        raise Invalid("A card is needed: JSON, PNG or CHARX.", field="file")
    try:
        if raw.startswith(png.SIGNATURE):
            texts = png.read(raw)
            if not texts:
                raise Invalid("There is no card in this picture.", field="file", code="bad_card")
            return _File(
                cards.first_of([texts[name] for name in ("ccv3", "chara") if name in texts]), picture=raw
            )
        if not raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return _File(charx.read(raw), archive=raw)
        return _File(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Invalid("The card is not UTF-8.", field="file", code="bad_card") from None
    except ValueError as error:
        raise Invalid(str(error), field="file", code="bad_card") from None


def _packed(form: str, text: str, agent: Agent, row: CharacterCard | None) -> bytes:
    if form == "json":
        return text.encode()
    picture = bytes(row.picture) if row and row.picture else b""
    archive = bytes(row.archive) if row and row.archive else b""
    if form == "png":
        texts = {"chara": cards.as_v2(text), "ccv3": text} if cards.is_v3(text) else {"chara": text}
        return png.write(picture or _icon(archive) or png.plain(agent.slug.encode()), texts)
    return charx.write(archive, text, {_MAIN_IMAGE: picture} if picture else None)


def _icon(archive: bytes) -> bytes:
    """The first whole PNG of an archive."""
    for name in charx.files(archive) if archive else []:
        if name.lower().endswith(".png"):
            data = charx.file(archive, name)
            if png.is_whole(data):
                return data
    return b""


def _persona(card: Card) -> dict[str, Any]:
    if len(card.raw_persona) > _MAX_RAW_CHARS or len(card.persona) > agents.MAX_PERSONA_CHARS:
        raise Invalid(
            f"The card's texts make a persona of over {agents.MAX_PERSONA_CHARS} characters.",
            field="data.description", code="too_long",
        )  # fmt: skip
    return {"persona": card.persona.replace("\x00", "")}


def _extension(card: Card, warnings: list[str]) -> dict[str, Any]:
    """What our own extension says of an agent; what cannot be taken is passed over with a warning."""
    checks: dict[str, Any] = {
        "likes": fields.items, "dislikes": fields.items, "timezone": fields.zone, "language": fields.language,
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, check in checks.items():
        if name not in card.extension:
            continue
        try:
            found[name] = check(card.extension[name], name)
        except Invalid as error:
            warnings.append(f"extensions.synth.{name} was passed over: {error.message}")
    return found


def _created(card: Card, slug: str, values: Mapping[str, Any], by: Person | None, door: str) -> Agent:
    name = card.name.replace("\x00", "").strip()
    if slug:
        return agents.create(slug=slug, name=name, by=by, door=door, **values)
    base = _slug_of(name)
    for n in range(1, 100):
        try:
            chosen = base if n == 1 else f"{base[:60]}-{n}"
            with transaction.atomic():
                return agents.create(slug=chosen, name=name, by=by, door=door, **values)
        except DomainError as error:
            if error.code not in ("slug_taken", "slug_reserved"):
                raise
    raise Conflict("An agent of that slug exists; name another.", code="slug_taken", field="slug")


def _slug_of(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:60].strip("-") or "agent"


def _keep_lore(agent: Agent, card: Card) -> list[str]:
    warnings: list[str] = []
    for n, lore in enumerate(card.lore, 1):
        if len(lore.text) + len(lore.name) > memories.MAX_BYTES:
            warnings.append(f"Entry {n} of the book was passed over: it is too long.")
            continue
        tags = [key.strip()[:100] for key in lore.keys if key.strip()][: memories.MAX_TAGS]
        try:
            text = card.filled(f"{lore.name.strip()}: {lore.text}" if lore.name.strip() else lore.text)
            memories.write(agent, text=text, tags=tags, kind="lore")
        except DomainError as error:
            warnings.append(f"Entry {n} of the book was passed over: {error.message}")
    return warnings
