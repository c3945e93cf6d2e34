"""What is read and written before an answer's first word: few statements, the same as through the models."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.transaction import TransactionManagementError
from django.utils.timezone import now

from synth.models import Dialogue, Message, TurnState
from synth.services import (
    agents,
    branches,
    dialogues,
    memories,
    people,
    turn_live,
    turn_places,
    turn_run,
    turns,
)  # fmt: skip
from synth.testing.scripted_host import ScriptedHost


@pytest.fixture
def first_word(settings, monkeypatch):
    """Runs a claimed turn; how many statements came before its first word, and what the host was sent."""

    def run(dialogue: Dialogue, content: str) -> tuple[int, int, Any]:
        counts: list[int] = []
        n = [0]

        def count(execute, sql, *args):
            n[0] += not sql.startswith(("SAVEPOINT", "RELEASE"))  # these are the test's own
            return execute(sql, *args)

        heard = turn_live.Live.text

        def hear(self, piece):
            counts.append(n[0])
            heard(self, piece)

        monkeypatch.setattr(turn_live.Live, "text", hear)
        with ScriptedHost(["Hello."]) as host, connection.execute_wrapper(count):
            settings.LLM_BASE_URL = host.base_url
            turns.begin(dialogue, dialogue.person, content)
            counts.append(n[0])
            (answer,) = turn_run.claim(now(), 1)
            turn_run.work(turn_run._load(answer), turn_live.Live(answer))
            monkeypatch.setattr(turn_live.Live, "text", heard)
            return counts[0], counts[1] - counts[0], host.requests[0].json

    return run


def values(row: Any, *without: str) -> dict[str, Any]:
    """Every column of a row as the database has it."""
    found = type(row).objects.filter(pk=row.pk).values().get()
    return {name: value for name, value in found.items() if name not in without}


def test_few_statements_come_before_the_first_word(first_word, dialogue, settings):
    settings.LLM_DAILY_TOKENS = 0
    first_word(dialogue, "The first names the dialogue.")
    n_begin, n_turn, _ = first_word(dialogue, "And now?")
    assert (n_begin, n_turn) == (5, 8)


def test_what_changes_between_turns_is_in_the_next_prompt(first_word, dialogue, agent, person):
    first_word(dialogue, "Once.")
    type(agent).objects.filter(pk=agent.pk).update(persona="You keep bees now.")
    memories.write(agent, text="Pia likes short answers.", kind="preference", about=person)
    memories.write(agent, text="The lamp is oiled on Mondays.", name="lamp")
    first = Message.objects.get(dialogue=dialogue, role="user")
    Message.objects.filter(pk=first.pk).update(content="Twice.")
    *_, body = first_word(dialogue, "And the lamp?")
    system = body["messages"][0]["content"]
    assert "bees" in system and "short answers" in system and "- lamp (fact" in system
    assert "oiled on Mondays" in system
    assert [m["content"] for m in body["messages"][1:]] == ["Twice.", "Hello.", "And the lamp?"]


@pytest.mark.parametrize("is_here", [False, True])
@pytest.mark.parametrize("is_archived", [False, True])
def test_the_place_of_an_answer_is_as_the_models_save_it(dialogue, person, is_here, is_archived):
    said = Message.objects.create(dialogue=dialogue, role="user", author=person, content="Hello.")
    if is_archived:
        dialogues.archive(dialogue)
    row = Dialogue.objects.get(pk=dialogue.pk)
    client = {"system": 'Rhymes only; "%s" \\ é', "tools": [], "max_tokens": 3}
    state = TurnState(person=person, door="openai", may_train=True, client=client, is_retake=True)
    answer = turn_places.save(row, said, state, key="post:k", is_here=is_here)

    # The same through the models, in the dialogue of somebody else.
    other = dialogues.create(dialogue.agent, people.ensure("ada"))
    twin = Message.objects.create(
        dialogue=other, parent=said, role="assistant", status="streaming", dedupe_key="post:k"
    )
    TurnState.objects.create(
        answer=twin, person=person, door="openai", may_train=True, client=client, is_retake=True
    )
    before = Dialogue.objects.get(pk=other.pk)
    if is_archived:
        Dialogue.objects.filter(pk=other.pk).update(archived_at=now())
        before.refresh_from_db()
    dialogues.touch(before, leaf=twin)

    apart = ("id", "dialogue_id", "at", "due_at", "attempt", "lease_until")
    assert values(answer, *apart) == values(twin, *apart)
    assert values(state, "answer_id", "at") == values(twin.turn, "answer_id", "at")
    times = ("id", "person_id", "active_leaf_id", "at", "created_at", "unarchived_at")
    assert values(row, *times) == values(before, *times)
    saved = Dialogue.objects.get(pk=row.pk)
    assert saved.active_leaf_id == answer.pk and saved.at == answer.at == answer.due_at == state.at
    assert (saved.unarchived_at == saved.at) is is_archived
    assert answer.attempt == int(is_here)
    assert answer.lease_until == (answer.at + timedelta(seconds=60) if is_here else None)
    for kept in (answer, state, row):  # what the caller holds is what was saved
        held = {field.attname: getattr(kept, field.attname) for field in type(kept)._meta.concrete_fields}
        assert held == values(kept)


def test_a_model_is_shown_the_same_of_a_branch_as_its_rows_say(dialogue, person):
    tip = None
    metadata: list[Any] = [{}, {"tool_calls": [{"id": "1"}], "via": "tools"}, {"call_id": "1", "ü": None}]
    for n in range(12):
        role = ("user", "assistant", "tool", "proactive")[n % 4]
        status = "complete" if n % 5 else "failed"
        tip = Message.objects.create(
            dialogue=dialogue, parent=tip, role=role, content=f"{n} \u00e9 {'x' * n}", status=status,
            metadata=metadata[n % 3],
        )  # fmt: skip
    assert tip is not None
    for budget in (0, 10, 40, 100, 10_000):
        rows, n_older = branches.above(tip, budget)
        told, n_more = branches.told_above(tip, budget)
        assert n_more == n_older
        assert [vars(node) for node in told] == [
            {"role": m.role, "status": m.status, "content": m.content, "metadata": m.metadata} for m in rows
        ]
    root = Message.objects.create(dialogue=dialogue, role="user", content="Alone.")
    assert branches.told_above(root, 100) == ([], 0)


@pytest.mark.django_db(transaction=True)
def test_a_lock_outside_of_a_transaction_is_refused():
    row = dialogues.create(agents.create(slug="rook", name="Rook", persona="."), people.ensure("pia"))
    with pytest.raises(TransactionManagementError):
        dialogues.lock(row.pk)


def test_nothing_is_mended_or_ranked_where_no_memory_is_in_scope(agent, person, django_assert_num_queries):
    memories.write(agent, text="Ada likes lighthouses.", about=people.ensure("ada"))
    with django_assert_num_queries(1):
        assert memories.recall(agent, "lighthouses", about=person, limit=3) == []
