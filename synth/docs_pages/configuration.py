"""`docs/configuration.md`: every environment variable, from the option table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from synth.docs_pages import tables
from synth.options import OPTIONS, Option

HEAD = """# Configuration

Written by `manage.py docs` from the option tables in the code; edit those, not this page.

Everything is set through the environment, once, for the whole server. A blank variable counts as unset. A
value that does not fit stops the start, with the name of the variable and what is allowed.

Variables marked *per agent* are also fields of an agent's settings row, editable in the admin site and over
REST. They are read when they are used. While the variable is set it wins for every agent, and the admin site
shows the field read-only. A value of these that does not fit is reported as a warning at start and not
followed.

Keys marked *secret* are never logged and never stored in the database. On the embedded stack `SECRET_KEY`,
`GIFT_CODE_KEY` and `FIELD_KEY` are made at the first start, in files only you can read under `SYNTH_HOME`;
with `DATABASE_URL` set you must give them yourself.
"""
TYPES = {
    "text": "text",
    "int": "whole number",
    "bool": "true or false",
    "list": "comma-separated",
    "url": "address",
}


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    ordered = sorted(OPTIONS.values(), key=lambda option: option.app != "synth")
    for app, options in groupby(ordered, key=lambda option: option.app):
        parts += [f"## {app}\n", _table(options) + "\n"]
    return "\n".join(parts)


def _table(options: Iterable[Option]) -> str:
    rows = [(f"`{o.name}`", _type(o), _default(o), o.help + _marks(o)) for o in options]
    return tables.write(["variable", "type", "default", "meaning"], rows)


def _type(option: Option) -> str:
    if option.kind == "choice":
        return ", ".join(f"`{choice}`" for choice in option.choices)
    low, high = option.minimum, option.maximum
    if low is None and high is None:
        return TYPES[option.kind]
    return f"{TYPES[option.kind]}, {'any' if low is None else low} to {'any' if high is None else high}"


def _default(option: Option) -> str:
    value = option.default
    if value is None or value == [] or value == "":
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{','.join(value)}`" if isinstance(value, list) else f"`{value}`"


def _marks(option: Option) -> str:
    marks = [word for word, on in (("secret", option.is_secret), ("per agent", option.per_agent)) if on]
    return f" *({', '.join(marks)})*" if marks else ""
