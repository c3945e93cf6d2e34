"""What a person may allow for longer than once: keys that are compared whole, never as patterns. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LONG_CHARS = 200  # a longer key is kept as its hash
MAX_SCOPES = 8
MAX_TEXT_CHARS = 300
ONLY_THIS = "Only exactly this, with the same arguments."


@dataclass(frozen=True)
class Scope:
    """`key` is what is compared, `text` says to a person what it allows."""

    key: str
    text: str

    def as_json(self) -> dict[str, str]:
        """The scope as it is stored and shown."""
        return {"key": self.key, "text": self.text}


def canonical(payload: Any) -> str:
    """The same text for the same JSON value."""
    return json.dumps(payload, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def exact(action: str, arguments: Any) -> Scope:
    """The narrowest: this action with these arguments. No other action or arguments have its key."""
    return Scope(_key(f"{action}:", canonical(arguments)), ONLY_THIS)


def every(action: str, arguments: Any, wider: Iterable[Scope]) -> list[Scope]:
    """The narrowest first, then what the action offers besides; keys of one action never meet another's."""
    found = {(narrow := exact(action, arguments)).key: narrow}
    for scope in wider:
        key = _key(f"{action}#", scope.key)
        found.setdefault(key, Scope(key, " ".join(scope.text.split())[:MAX_TEXT_CHARS]))
    return list(found.values())[:MAX_SCOPES]


def _key(head: str, rest: str) -> str:
    whole = f"{head}{rest}"
    if len(whole) <= LONG_CHARS and not rest.startswith("sha256:"):
        return whole
    return f"{head}sha256:{hashlib.sha256(rest.encode()).hexdigest()}"
