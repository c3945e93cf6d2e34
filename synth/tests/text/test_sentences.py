"""Sentences are found in any script and stay verbatim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.sentences import sentences, spans


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("It rained. We stayed in!", 2),
        ("Dr. Rossi paid 3.5 euros at example.org. Then he left.", 2),
        ("J. R. Smith came. Good.", 2),
        ("Am 3. Mai war es kalt. Wir blieben da.", 2),
        ("Wait... what? Yes.", 2),
        ('She said "Go!" and left. I stayed.', 2),
        ("今日は雨だった。美術館に行った！楽しかった", 3),
        ("「行こう！」と言った。帰った。", 2),
        ("我去了公园。很开心！", 2),
        ("วันนี้ฉันไปตลาดกับนก แล้วกินข้าวมันไก่", 1),
        ("आज बारिश हुई। हम घर पर रहे।", 2),
        ("ذهبت إلى السوق. هل كان مزدحما؟ نعم.", 3),
        ("Мы гуляли. Было холодно!", 2),
        ("- Bread\n- Milk\n- Jay called", 3),
        ("1. Bread bought\n2. Jay called", 2),
        ("A line that was wrapped by an editor after some seventy characters or so\nand goes on here.", 1),
        ("지민이랑 커피를 마셨다. 좋았다.", 2),
        ("", 0),
        ("...", 0),
        ("🌧️", 1),
        ("word", 1),
    ],
)
def test_sentences_are_counted_as_a_reader_would(text, n):
    assert len(sentences(text)) == n, sentences(text)


def test_a_bullet_is_no_part_of_the_sentence():
    assert sentences("* Jay called\n## Monday") == ["Jay called", "Monday"]


@given(st.text(alphabet=st.characters(codec=None)) | st.text(alphabet="a A.!?。」\n- 3ก…"))
def test_spans_are_in_order_and_trimmed(text):
    last = 0
    for a, b in spans(text):
        assert last <= a < b <= len(text)
        assert text[a:b] == text[a:b].strip()
        last = b
