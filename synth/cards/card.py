"""What a character card says, whatever version it is, and the card of an agent as it is now."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.cards.rawjson import RawObject
from synth.llm.tolerant import clean_text

V1 = "chara_card_v1"
V2 = "chara_card_v2"
V3 = "chara_card_v3"
SPECS = {V2: "2.0", V3: "3.0"}
TEXTS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
MORE_TEXTS = ("system_prompt", "post_history_instructions", "creator_notes", "creator", "character_version")
LISTS = ("alternate_greetings", "tags")
EXTENSION = "synth"
SOMEBODY = "the person you talk to"
MAX_LORE = 2_000
MAX_GREETINGS = 200
MAX_NAME_CHARS = 100  # of a name as it is put into texts; a longer one could make a text of any size
_NAMES = re.compile(r"(\{\{\s*char\s*\}\}|<BOT>|<CHAR>)|\{\{\s*user\s*\}\}|<USER>", re.IGNORECASE)
_COMMENT = re.compile(r"\{\{(?://|\s*(?:comment|hidden_key)\s*:|\s*original\s*(?=\}\}))")


class BadCard(ValueError):
    """Not a card. `field` names what is wrong, where one field is."""

    def __init__(self, message: str, field: str = "file") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Lore:
    """One entry of a card's book: a text, its name, and the words it is known by."""

    text: str
    name: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Card:
    """A card as read. `raw` is its very text; `texts` are its known fields, blank where missing."""

    spec: str
    raw: str
    texts: Mapping[str, str]
    nickname: str = ""
    greetings: tuple[str, ...] = ()
    lore: tuple[Lore, ...] = ()
    extension: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The character's name on one line, cut where it is far too long for one."""
        return _short(self.texts["name"])

    @property
    def persona(self) -> str:
        """The card's texts as one persona, its placeholders filled in."""
        return self.filled(self.raw_persona)

    @property
    def raw_persona(self) -> str:
        """The same with its placeholders."""
        told = [
            self.texts["system_prompt"],
            self.texts["description"],
            _titled("Personality: ", self.texts["personality"]),
            _titled("Scenario: ", self.texts["scenario"]),
            _titled(f"How {self.name} speaks:\n", self.texts["mes_example"]),
            self.texts["post_history_instructions"],
        ]
        return "\n\n".join(text.strip() for text in told if text.strip())

    def filled(self, text: str, user: str = SOMEBODY) -> str:
        """The text with the names of the character and of the person it talks to."""
        char = self.nickname or self.name
        # In one go: a name that looks like a placeholder stays a name.
        filled = _NAMES.sub(lambda found: char if found[1] else user, _without_comments(text))
        return clean_text(filled).strip()


def read(raw: str) -> Card:
    """The card in a JSON text. BadCard names the field that is wrong."""
    try:
        whole = RawObject(raw)
        _look_into(whole)
    except (ValueError, RecursionError) as error:
        raise BadCard(f"The card is not a JSON object: {error}"[:200]) from None
    if "\x00" in raw:
        raise BadCard("The card holds a NUL character.")
    spec = whole.get("spec")
    if spec is not None and not (isinstance(spec, str) and spec in SPECS):
        raise BadCard(f"{str(spec)[:60]!r} is no version of a card known here.", "spec")
    data = whole.get("data") if spec else _plain_data(whole)
    if not isinstance(data, dict):
        raise BadCard("The card has no data.", "data")
    prefix = "data." if spec else ""
    texts = {name: _text(data, name, prefix) for name in (*TEXTS, *MORE_TEXTS)}
    if not texts["name"].strip():
        raise BadCard("The card has no name.", f"{prefix}name")
    warnings: list[str] = []
    greetings = (texts["first_mes"], *_texts(data, "alternate_greetings", warnings))
    extensions = data.get("extensions")
    ours = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    return Card(
        spec=str(spec or V1),
        raw=raw,
        texts=texts,
        nickname=_short(_text(data, "nickname", prefix)),
        greetings=tuple(text for text in greetings if text.strip())[:MAX_GREETINGS],
        lore=tuple(_lore(data.get("character_book"), warnings)),
        extension=ours if isinstance(ours, dict) else {},
        warnings=tuple(warnings),
    )


def first_of(raws: Sequence[str]) -> str:
    """The first of these texts that is a card; the first one where none is, for its error."""
    for raw in raws:
        try:
            read(raw)
        except BadCard:
            continue
        return raw
    return raws[0]


def is_v3(raw: str) -> bool:
    """Whether a card says so of itself."""
    return bool(RawObject(raw).get("spec") == V3)


def as_v2(raw: str) -> str:
    """The same card as readers of V2 take it: what is new in V3 is unknown to them, and stays."""
    whole = RawObject(raw)
    whole.set("spec", V2)
    whole.set("spec_version", SPECS[V2])
    return str(whole)


def write(card: Card | None, *, name: str, persona: str, extension: Mapping[str, Any], spec: str = "") -> str:
    """The card of an agent as it is now: what the server does not know stays exactly as it came.

    `card` is the one it was imported from, None for an agent made here. The spec stays what it was, but V1,
    which has no room for more, becomes V2; `spec` asks for another.
    """
    whole = RawObject(card.raw if card else _fresh(name))
    if card is not None and card.spec == V1:
        whole.set_raw("data", _data_of_v1(whole))
    wanted = spec or (V2 if card is not None and card.spec == V1 else card.spec if card else V3)
    whole.set("spec", wanted)
    whole.set("spec_version", SPECS[wanted])
    data = RawObject(whole.raw("data"))
    if card is None or name != card.name:
        data.set("name", name)
    if card is None or persona != card.persona:
        data.set("description", persona)
        for emptied in (
            "personality",
            "scenario",
            "mes_example",
            "system_prompt",
            "post_history_instructions",
        ):
            data.set(emptied, "")
    extensions = RawObject(data.raw("extensions") if isinstance(data.get("extensions"), dict) else "{}")
    extensions.set(EXTENSION, dict(extension))
    data.set_raw("extensions", str(extensions))
    whole.set_raw("data", str(data))
    return str(whole)


def _fresh(name: str) -> str:
    data: dict[str, Any] = {key: "" for key in (*TEXTS, *MORE_TEXTS)}
    data.update(name=name, alternate_greetings=[], group_only_greetings=[], tags=[], extensions={})
    return json.dumps({"spec": V3, "spec_version": "3.0", "data": data}, ensure_ascii=False, indent=2)


def _plain_data(whole: RawObject) -> dict[str, Any]:
    """A V1 card's fields stand at the top; without any of them it is no card."""
    if not any(name in whole for name in ("description", "personality", "first_mes", "char_name")):
        raise BadCard("This is no character card: it has neither a spec nor the fields of the first version.")
    data = {name: whole.get(name) for name in (*TEXTS, *MORE_TEXTS) if name in whole}
    data.setdefault("name", whole.get("char_name"))
    return data


def _data_of_v1(whole: RawObject) -> str:
    data = RawObject("{}")
    for name in TEXTS:
        data.set_raw(name, whole.raw(name) or '""')
    if "name" not in whole:
        data.set_raw("name", whole.raw("char_name"))
    for name in MORE_TEXTS:
        data.set_raw(name, whole.raw(name) or '""')
    for name in LISTS:
        data.set_raw(name, "[]")
    return str(data)


def _text(data: Mapping[str, Any], name: str, prefix: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadCard("This must be text.", f"{prefix}{name}")
    return value


def _texts(data: Mapping[str, Any], name: str, warnings: list[str]) -> list[str]:
    raw = data.get(name)
    if raw is None:
        return []
    if not isinstance(raw, list):
        warnings.append(f"{name} is no list and was passed over.")
        return []
    return [text for text in raw if isinstance(text, str)]


def _look_into(whole: RawObject) -> None:
    """ValueError for inner objects that could not be written back member by member."""
    data = whole.raw("data")
    if data.startswith("{"):
        extensions = RawObject(data).raw("extensions")
        if extensions.startswith("{"):
            RawObject(extensions)


def _short(name: str) -> str:
    return " ".join(name.split())[:MAX_NAME_CHARS].strip()


def _without_comments(text: str) -> str:
    """The text without its notes and `{{original}}`; each ends at the next `}}`, one without an end stays."""
    kept: list[str] = []
    at = 0
    while match := _COMMENT.search(text, at):
        end = text.find("}}", match.end())
        if end < 0:
            break
        kept.append(text[at : match.start()])
        at = end + 2
    return "".join([*kept, text[at:]])


def _titled(title: str, text: str) -> str:
    return f"{title}{text.strip()}" if text.strip() else ""


def _lore(book: Any, warnings: list[str]) -> list[Lore]:
    raw = book.get("entries") if isinstance(book, dict) else None
    entries = list(raw.values()) if isinstance(raw, dict) else raw
    if not isinstance(entries, list):
        return []
    if len(entries) > MAX_LORE:
        warnings.append(f"Only the first {MAX_LORE} of {len(entries)} entries of the book were taken.")
    found: list[Lore] = []
    for entry in entries[:MAX_LORE]:
        text = entry.get("content") if isinstance(entry, dict) else None
        if not isinstance(text, str) or not text.strip() or entry.get("enabled") is False:
            continue
        names = [entry.get("name"), entry.get("comment")]
        keys = entry.get("keys", entry.get("key"))
        found.append(
            Lore(
                text,
                next((name for name in names if isinstance(name, str) and name.strip()), ""),
                tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else (),
            )
        )
    return found
