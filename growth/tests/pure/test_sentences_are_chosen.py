"""Keeping, dropping and rewriting single sentences of a text leaves the rest as it stood."""

from __future__ import annotations

import pytest

from growth.sentence_choice import chosen
from synth.text.sentences import sentences

TWO = "I glued a pot. It leaks.\n\nAna laughed. I wrote to her."


@pytest.mark.parametrize(
    ("text", "choice", "expected"),
    [
        (TWO, sentences(TWO), TWO),
        (TWO, ["I glued a pot.", None, None, None], "I glued a pot."),
        (TWO, [None, "It leaks.", "Ana laughed.", None], "It leaks.\n\nAna laughed."),
        (TWO, ["I glued a pot.", None, "Ana laughed.", "I wrote to her."],
         "I glued a pot.\n\nAna laughed. I wrote to her."),
        (TWO, ["I glued a pot.", None, None, "I wrote to her."], "I glued a pot.\n\nI wrote to her."),
        (TWO, [None, " It drips. ", None, None], "It drips."),
        (TWO, [None, None, None, None], ""),
        (TWO, ["  ", None, None, None], ""),
        (TWO, [], ""),
        ("皿を直した。水が漏れる。花を植えた。", ["皿を直した。", None, "花を植えた。"],
         "皿を直した。花を植えた。"),
        ("- I sail.\n- I read.\n- I sing.", ["I sail.", None, "I sing."], "- I sail.\n- I sing."),
        ("I wait. ...", ["I wait."], "I wait. ..."),
        ("No end", ["No end"], "No end"),
        ("", [], ""),
    ],
)  # fmt: skip
def test_what_is_left(text, choice, expected):
    assert chosen(text, choice) == expected
