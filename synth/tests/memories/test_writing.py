"""What a memory may be, and what a write answers."""

import pytest
from django.db import transaction

from synth.errors import Conflict, Invalid, NotFound
from synth.models import Agent, AuditEntry, Memory
from synth.services import memories

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent():
    return Agent.objects.create(slug="wren", name="Wren")


@pytest.mark.parametrize(
    "changes, field, code",
    [
        ({"text": ""}, "text", "blank"),
        ({"text": " \n\u3000"}, "text", "blank"),
        ({"text": "a\x00b"}, "text", "bad_characters"),
        ({"text": "half \ud83d"}, "text", "bad_characters"),
        ({"text": "a" * (256 * 1024 + 1)}, "text", "too_long"),
        ({"text": "京" * (86 * 1024)}, "text", "too_long"),
        ({"text": 5}, "text", "invalid"),
        ({"name": "no/slash"}, "name", "bad_name"),
        ({"name": "-begins with a dash"}, "name", "bad_name"),
        ({"name": "a" * 101}, "name", "bad_name"),
        ({"kind": "Two Words"}, "kind", "bad_kind"),
        ({"tags": "text"}, "tags", "invalid"),
        ({"tags": ["a\x00"]}, "tags", "bad_characters"),
        ({"tags": [str(n) for n in range(51)]}, "tags", "bad_tags"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_field(agent, changes, field, code):
    with pytest.raises(Invalid) as caught:
        memories.write(agent, **{"text": "x", **changes})
    assert (caught.value.field, caught.value.code) == (field, code)
    row = memories.write(agent, text="x")
    with pytest.raises(Invalid):
        memories.update(row, **changes)
    assert Memory.objects.get().text == "x"


def test_the_largest_text_is_kept(agent):
    text = "word " * 50_000
    assert memories.write(agent, text=text).n_tokens == 62_500
    assert Memory.objects.get().text == text


def test_the_largest_japanese_text_fits_the_index(agent):
    text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(87_000))
    memories.write(agent, text=text)
    assert memories.recall(agent, text[:12], about=None, limit=1)


@pytest.mark.parametrize("name", ["tea", "Ana's friend".replace("'", ""), "京都 2026", "a.b:c-d_e", ""])
def test_names_of_any_script_are_kept(agent, name):
    assert memories.write(agent, text="x", name=name).name == name


def test_a_name_is_used_once_in_an_agent(agent):
    memories.write(agent, text="x", name="tea")
    row = memories.write(agent, text="y")
    for call in (
        lambda: memories.write(agent, text="z", name="tea"),
        lambda: memories.update(row, name="tea"),
    ):
        with pytest.raises(Conflict) as caught, transaction.atomic():
            call()
        assert (caught.value.code, caught.value.field) == ("name_taken", "name")
    other = Agent.objects.create(slug="other", name="Other")
    assert memories.write(other, text="x", name="tea").pk
    assert Memory.objects.filter(agent=agent).count() == 2


def test_an_update_of_something_gone_says_so(agent):
    row = memories.write(agent, text="x")
    memories.delete(row)
    memories.delete(row)
    with pytest.raises(NotFound):
        memories.update(row, text="y")


def test_the_size_counts_characters_by_script():
    assert memories.estimate_tokens("abcd" * 10) == 10
    assert memories.estimate_tokens("京都の桜") == 4
    assert memories.estimate_tokens("") == 0
    assert memories.estimate_tokens("I saw 京都") == 4


def test_a_write_says_once_when_an_entry_grows_too_long(agent, settings):
    settings.MEMORY_ENTRY_WARN_TOKENS = 10
    row = memories.write(agent, text="a" * 40)
    assert row.note == ""
    row = memories.update(row, text="a" * 44)
    assert "11 tokens" in row.note
    assert memories.update(row, text="a" * 48).note == ""
    assert memories.update(row, text="a" * 8).note == ""
    assert memories.write(agent, text="b" * 100).note
    settings.MEMORY_ENTRY_WARN_TOKENS = 0
    assert memories.write(agent, text="c" * 100).note == ""


def test_saving_a_written_row_keeps_it_findable(agent):
    row = memories.write(agent, text="a heron at the pond")
    row.kind = "place"
    row.save()
    assert memories.recall(agent, "heron", about=None, limit=1)


def test_a_change_through_a_door_is_on_record_and_one_of_the_agent_itself_is_not(agent):
    memories.write(agent, text="x")
    row = memories.write(agent, text="y", door="rest")
    memories.update(row, text="z", door="rest")
    memories.delete(row, door="rest")
    memories.delete(row, door="rest")
    names = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert names == ["memory_write", "memory_update", "memory_delete"]
