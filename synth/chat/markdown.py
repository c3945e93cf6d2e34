"""What a model wrote, as HTML that can do nothing: no raw HTML, no scripts, no pictures from elsewhere. Pure.

A picture's address would tell its host who reads what; models can be talked into writing one. So pictures
become links, and links say nothing of the page they stand on.
"""

from __future__ import annotations

from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_CHARS = 200_000
TAGS = frozenset(
    "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr "
    "ul".split()
)
ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href"},
    "code": {"class"},
    "ol": {"start"},
    "td": {"style"},
    "th": {"style"},
}
SCHEMES = frozenset({"http", "https", "mailto"})


def html(text: str) -> str:
    """The text as safe HTML; beyond 200,000 characters it is left as plain text."""
    if len(text) > MAX_CHARS:
        return f'<pre tabindex="0">{nh3.clean_text(text)}</pre>'
    made = _reader().render(text)
    return nh3.clean(
        made,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow",
        # What scrolls by itself must be reachable by keyboard.
        set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}},
        filter_style_properties={"text-align"},
    )


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _as_link)
    return reader


def _as_link(self: object, tokens: list[Token], at: int, options: object, env: object) -> str:
    token = tokens[at]
    address = nh3.clean_text(str(token.attrGet("src") or ""))
    return f'<a href="{address}">{nh3.clean_text(token.content or "picture")}</a>'
