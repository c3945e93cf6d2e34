"""Who steers an agent sees which self spoke, not what somebody else's program told it."""

from __future__ import annotations

import pytest
from django.utils.timezone import now

from synth.services import dialogues, turn_run, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.api.conftest import Callers, agent, callers, no_limits, person, trainer  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = "Pia writes from her plum orchard."


@pytest.fixture(params=["person", "trainer"])
def dialogue(request, agent, callers):  # noqa: F811 - fixtures
    """One in which a program told something along with the words."""
    row = dialogues.create(agent, getattr(callers, request.param))
    with ScriptedHost(["Hello."]) as host, host.installed():
        turns.begin(row, row.person, "Hi.", client={"system": NOTE})
        turn_run.run(turn_run.claim(now(), 1)[0])
        assert NOTE in host.requests[0].text
    return row


def test_a_note_of_a_program_is_shown_with_ones_own_dialogue_alone(dialogue, trainer, callers):  # noqa: F811
    of_all = trainer.get("/api/agents/wren/prompt/", {"at": now().isoformat()}).json()
    assert not of_all["reconstructed"] and "A small bird." in of_all["text"]
    assert NOTE not in str(of_all) and "client" not in [layer["name"] for layer in of_all["layers"]]
    given = {"at": now().isoformat(), "dialogue": str(dialogue.pk)}
    answer = trainer.get("/api/agents/wren/prompt/", given)
    is_own = dialogue.person == callers.trainer
    assert (answer.status_code, NOTE in answer.content.decode()) == ((200, True) if is_own else (404, False))
