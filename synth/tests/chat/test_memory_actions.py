"""An agent reads, lists, keeps and forgets memories; what is about one person never reaches another."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.utils import timezone

from synth import actions
from synth.errors import Conflict, Invalid
from synth.models import AuditEntry, Memory
from synth.services import memories, named_memories, people
from synth.turns import Turn


@pytest.fixture
def ada(db):
    return people.ensure("ada")


def turn_of(agent, person, **values):
    return Turn(agent, person, None, None, timezone.now(), **values)


def do(agent, person, name, payload=None, **values):
    return actions.perform(turn_of(agent, person, **values), f"memory_{name}", payload or {})


def test_what_a_person_wants_kept_is_about_them(agent, person):
    done = do(agent, person, "write", {"name": "tea", "text": "Green, no sugar.", "kind": "preference"})
    row = Memory.objects.get()
    assert done.is_ok and (row.about, row.kind, row.text) == (person, "preference", "Green, no sugar.")
    assert "sugar" not in done.text and "tea" not in done.text
    assert do(agent, person, "read", {"name": "tea"}).text.endswith("Green, no sugar.")
    assert AuditEntry.objects.filter(action="memory_write", actor=person).exists()


def test_the_same_name_replaces_and_keeps_what_is_not_said(agent, person):
    do(agent, person, "write", {"name": "tea", "text": "Green.", "tags": ["drinks"], "kind": "preference"})
    done = do(agent, person, "write", {"name": " tea ", "text": "Black."})
    row = Memory.objects.get()
    assert (row.text, row.tags, row.kind, done.data["is_new"]) == ("Black.", ["drinks"], "preference", False)


def test_two_persons_use_one_name_and_neither_notices(agent, person, ada):
    for who, text in ((person, "Green."), (ada, "Coffee.")):
        assert do(agent, who, "write", {"name": "drinks", "text": text}).data["is_new"]
    for who, text in ((person, "Green."), (ada, "Coffee.")):
        read = do(agent, who, "read", {"name": "drinks"})
        assert read.text.startswith("Memory drinks (") and read.text.endswith(text)
        listed = do(agent, who, "list").text
        assert listed.count("drinks") == 1 and ":" not in listed
    do(agent, ada, "write", {"name": "drinks", "text": "Tea after all."})
    assert Memory.objects.count() == 2 and Memory.objects.get(about=person).text == "Green."


@pytest.mark.parametrize("name", ["drinks", "d" * 100, "drinks:{}"])
def test_no_name_is_refused_because_another_person_has_it(agent, person, ada, name):
    name = name.format(ada.pk)
    for who in (person, ada, None):
        memories.write(agent, text="Green.", name="drinks", about=who)
    for who in (person, ada):
        assert do(agent, who, "write", {"name": name, "text": "Tea."}).is_ok
        assert do(agent, who, "read", {"name": name}).text.endswith("Tea.")
    with pytest.raises(Conflict):
        memories.write(agent, text="Milk.", name="drinks", about=ada)


def test_what_is_about_another_person_is_not_found_by_any_name(agent, person, ada):
    secret = memories.write(agent, text="Pia hides umbrellas.", name="umbrellas", about=person)
    for name in ("umbrellas", f"#{secret.pk}", f"umbrellas:{person.pk}"):
        assert do(agent, ada, "read", {"name": name}).code == "memory_not_found"
    assert "umbrella" not in do(agent, ada, "list", {"query": "umbrellas"}).text
    assert "umbrella" not in do(agent, ada, "list").text
    assert do(agent, ada, "read", {"name": "umbrella"}).text == "There is no memory of that name."
    assert "umbrella" not in do(agent, None, "list").text


def test_what_is_about_nobody_is_read_by_all_and_changed_by_trainers(agent, person, trainer):
    memories.write(agent, text="The lamp is oiled on Mondays.", name="lamp")
    assert do(agent, person, "read", {"name": "lamp"}).is_ok
    shared = {"name": "lamp", "text": "The lamp is mine.", "about_me": False}
    assert do(agent, person, "write", shared).code == "not_allowed"
    own = do(agent, person, "write", {"name": "lamp", "text": "I like the lamp."})
    assert own.is_ok and Memory.objects.get(about=None).text == "The lamp is oiled on Mondays."
    assert do(agent, person, "read", {"name": "lamp"}).text.endswith("I like the lamp.")
    done = do(agent, trainer, "write", {"name": "lamp", "text": "On Tuesdays."}, is_trainer=True)
    assert done.is_ok and Memory.objects.get(about=None).text == "On Tuesdays."
    assert do(agent, trainer, "write", shared).code == "not_allowed"  # not by a key without the right


def test_a_name_that_another_persons_memory_has_is_free_for_what_is_about_nobody(agent, person, trainer):
    memories.write(agent, text="Pia's plans.", name="plans", about=person)
    turn = {"is_trainer": True}
    do(agent, trainer, "write", {"name": "plans", "text": "Ours.", "about_me": False}, **turn)
    assert do(agent, trainer, "read", {"name": "plans"}, **turn).text.endswith("Ours.")
    assert do(agent, person, "read", {"name": "plans"}).text.endswith("Pia's plans.")


@pytest.mark.django_db(transaction=True)
def test_two_writes_of_one_name_at_once_make_one_memory(agent, person):
    start = threading.Barrier(4)
    found = []

    def keep(n):
        start.wait()
        try:
            found.append(do(agent, person, "write", {"name": "tea", "text": f"Cup {n}."}).is_ok)
        finally:
            connection.close()

    threads = [threading.Thread(target=keep, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4 and Memory.objects.count() == 1


def test_a_write_that_crosses_the_limit_is_told_so_once(agent, person, settings):
    settings.MEMORY_ENTRY_WARN_TOKENS = 10
    notes = [do(agent, person, "write", {"name": "tea", "text": "x" * n}).text for n in (40, 44, 48, 8, 60)]
    assert [("over 10" in note) for note in notes] == [False, True, False, False, True]


def test_forgetting_needs_a_persons_word(agent, person, dialogue):
    memories.write(agent, text="Green.", name="tea", about=person)
    assert do(agent, person, "forget", {"name": "tea"}).code == "needs_approval" and Memory.objects.exists()
    action = actions.named("memory_forget")
    assert action is not None and action.diff is not None and action.risk == "needs_approval"
    turn, arguments = turn_of(agent, person), action.arguments(name="tea")
    assert action.diff(turn, arguments) == "- tea\n- Green."
    assert action.handler(turn, arguments).text == "The memory is forgotten." and not Memory.objects.exists()
    assert action.handler(turn, arguments).code == "memory_not_found"


def test_what_is_about_nobody_is_not_forgotten_for_plain_persons(agent, person):
    memories.write(agent, text="The lamp.", name="lamp")
    action = actions.named("memory_forget")
    assert action is not None and action.diff is not None
    turn, arguments = turn_of(agent, person), action.arguments(name="lamp")
    assert action.diff(turn, arguments) == ""
    assert action.handler(turn, arguments).code == "not_allowed" and Memory.objects.exists()


def test_memories_are_listed_by_name_by_question_and_by_size(agent, person, settings):
    settings.MEMORY_ENTRY_WARN_TOKENS = 10
    kettle = memories.write(agent, text="A blue kettle that leaks.", tags=["kitchen"])
    memories.write(agent, text="oil " * 30, name="lamp", kind="howto")
    for n in range(6):
        memories.write(agent, text="word " * (20 + n), name=f"long {n}")
    listed = do(agent, person, "list").text.split("\n")
    assert f"- #{kettle.pk} (fact, ~7 tokens; kitchen)" in listed and "- lamp (howto, ~30 tokens)" in listed
    assert "kettle" not in " ".join(listed)
    assert do(agent, person, "list", {"query": "kettle leaks"}).text.startswith(f"- #{kettle.pk} ")
    big = do(agent, person, "list", {"big": True}).text.split("\n")
    assert big[0] == "- long 5 (fact, ~32 tokens)" and big[-1] == "+2 more" and len(big) == 6
    assert do(agent, person, "list", {"query": "volcano"}).text == "No memories are about that."


@pytest.mark.parametrize(
    ("name", "payload", "code"),
    [
        ("read", {"name": "tea"}, "memory_not_found"),
        ("read", {"name": ""}, "invalid_payload"),
        ("read", {"name": "#99999999999999999999"}, "memory_not_found"),
        ("read", {"name": "tea", "offset_chars": -1}, "invalid_payload"),
        ("list", {"query": 7}, "invalid_payload"),
        ("write", {"name": "tea"}, "invalid_payload"),
        ("write", {"name": "x" * 101, "text": "a"}, "invalid_payload"),
        ("write", {"name": "a/b", "text": "a"}, "bad_name"),
        ("write", {"name": "tea", "text": "  "}, "blank"),
        ("write", {"name": "tea", "text": "a\x00"}, "bad_characters"),
        ("write", {"name": "tea", "text": "a", "kind": "Two Words"}, "bad_kind"),
        ("write", {"name": "tea", "text": "a", "more": 1}, "invalid_payload"),
    ],
)
def test_what_does_not_fit_is_refused_by_a_typed_line(agent, person, name, payload, code):
    assert do(agent, person, name, payload).code == code and not Memory.objects.exists()


def test_named_memories_are_erased_with_their_person(agent, person, ada):
    do(agent, person, "write", {"name": "drinks", "text": "Green."})
    do(agent, ada, "write", {"name": "drinks", "text": "Coffee."})
    memories.delete_about(person)
    found = named_memories.find(agent, ada, "drinks")
    assert found is not None and found.text == "Coffee."


@pytest.mark.parametrize("name", ["हिन्दी", "ที่อยู่", "தமிழ்", "বাংলা", "می\u200cخواهم", "cafe\u0301"])
def test_a_name_may_hold_the_marks_of_any_script(agent, person, name):
    assert do(agent, person, "write", {"name": name, "text": "One."}).is_ok
    assert do(agent, person, "write", {"name": name, "text": "Two."}).is_ok
    assert do(agent, person, "read", {"name": name}).text.endswith("Two.")
    assert Memory.objects.count() == 1


def test_a_name_is_the_same_however_its_accents_are_typed(agent, person):
    do(agent, person, "write", {"name": "cafe\u0301", "text": "One."})
    do(agent, person, "write", {"name": "caf\u00e9", "text": "Two."})
    assert Memory.objects.get().text == "Two."


@pytest.mark.parametrize("name", ["\u0301a", "\u200ca", "a\u202eb", "ि" * 3, "क" + "ि" * 100])
def test_marks_begin_no_name_and_count_like_letters(agent, name):
    with pytest.raises(Invalid) as refused:
        memories.write(agent, text="a", name=name)
    assert (refused.value.code, refused.value.field) == ("bad_name", "name")
