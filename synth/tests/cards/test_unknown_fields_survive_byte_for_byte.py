"""What nobody here knows of a card comes back as it came, character for character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.cards import card as cards
from synth.cards.rawjson import RawObject

PIECES = (
    '"spec" : "chara_card_v3",\t"spec_version": "3.0", "zoo": 1.0e3,',
    '"depth": 1E400, "esc": "\\u00e9\\ud83d\\ude00\\/",',
    '"big": 123456789012345678901234567890.50,',
    '{ "other" : {"a":[ 1 ,2]} , "x":null',
    '"dup": 1, "dup": 2 }',
)
HEAD, ESCAPED, BIG, OTHERS, DOUBLED = PIECES
ODD = (
    f'{{\n  {HEAD}\n  "data": {{"name": "Ada", "description": "d", {ESCAPED} {BIG} '
    f'"extensions": {OTHERS}}}, {DOUBLED} }}\n'
)


def test_an_unchanged_card_is_the_same_text_beside_its_extension():
    card = cards.read(ODD)
    text = cards.write(card, name="Ada", persona=card.persona, extension={"likes": ["tea"]})
    assert [piece for piece in PIECES if piece not in text] == []
    assert text.replace(', "synth":{"likes": ["tea"]}', "") == ODD
    assert json.loads(text)["data"]["extensions"]["synth"] == {"likes": ["tea"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON), st.sampled_from([None, 1, 3]), st.booleans())
def test_any_object_is_written_as_it_was_read(value, indent, ascii):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert str(RawObject(text)) == text


@given(st.dictionaries(st.text(), JSON), st.text(), JSON, st.sampled_from([None, 2]))
def test_setting_one_member_leaves_the_others_text(value, key, new, indent):
    raw = RawObject(json.dumps(value, indent=indent))
    raw.set(key, new)
    assert json.loads(str(raw)) == {**value, key: new}
    raw.remove(key)
    assert json.loads(str(raw)) == {name: v for name, v in value.items() if name != key}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1} x', "{1:2}", '{"a":1 "b":2}', "{,}"]
)
def test_what_is_no_object_is_refused(text):
    with pytest.raises(ValueError, match="."):
        RawObject(text)


def test_an_edited_persona_replaces_the_texts_it_came_from():
    source = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Ada", "description": "{{char}} counts.", "personality": "calm", "scenario": "",
        "first_mes": "Hi {{user}}", "mes_example": "", "weather": "rain"}}  # fmt: skip
    card = cards.read(json.dumps(source))
    assert card.persona == "Ada counts.\n\nPersonality: calm"
    text = cards.write(card, name="Ada", persona="Ada sings.", extension={})
    again = cards.read(text)
    assert (again.persona, again.spec) == ("Ada sings.", "chara_card_v2")
    assert json.loads(text)["data"]["weather"] == "rain"
    assert json.loads(text)["data"]["first_mes"] == "Hi {{user}}"


def test_a_card_of_the_first_version_becomes_the_second_and_keeps_its_top_level():
    source = '{"name": "Bo", "description": "tall", "first_mes": "Yo", "mood": 1.50}'
    card = cards.read(source)
    text = cards.write(card, name="Bo", persona=card.persona, extension={"language": "en"})
    assert text.startswith('{"name": "Bo", "description": "tall", "first_mes": "Yo", "mood": 1.50')
    again = cards.read(text)
    assert (again.spec, again.persona, again.greetings) == ("chara_card_v2", card.persona, ("Yo",))
    assert again.extension == {"language": "en"}


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ('{"spec": "chara_card_v9", "data": {"name": "x"}}', "spec"),
        ('{"spec": 3, "data": {"name": "x"}}', "spec"),
        ('{"spec": ["chara_card_v2"], "data": {"name": "x"}}', "spec"),
        ('{"spec": "chara_card_v2", "data": []}', "data"),
        ('{"spec": "chara_card_v2", "data": {"name": " "}}', "data.name"),
        ('{"spec": "chara_card_v2", "data": {"name": "x", "description": 5}}', "data.description"),
        ('{"hello": 1}', "file"),
        ("[]", "file"),
        ("{" * 100_000, "file"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "file"),
    ],
)
def test_what_is_no_card_names_the_field(source, field):
    with pytest.raises(cards.BadCard) as caught:
        cards.read(source)
    assert caught.value.field == field
