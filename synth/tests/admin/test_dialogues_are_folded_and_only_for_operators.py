"""Operators find a dialogue and open what was said with a click; trainers do not see it at all."""

from __future__ import annotations

import pytest
from django.test import Client

from synth.models import Agent, Message
from synth.services import dialogues, people


@pytest.fixture
def node(wren: Agent) -> Message:
    dialogue = dialogues.create(wren, people.ensure("pia"), title="Tea time")
    return dialogues.attach_proactive_node(dialogue, "<b>Plum cake</b>")


def test_a_body_is_folded_and_escaped(operator: Client, node: Message) -> None:
    page = operator.get(f"/admin/synth/message/{node.pk}/change/").content.decode()
    assert "<details><summary>Show</summary><pre>&lt;b&gt;Plum cake&lt;/b&gt;</pre></details>" in page
    listed = operator.get("/admin/synth/message/").content.decode()
    assert "Plum cake" not in listed
    assert operator.get(f"/admin/synth/dialogue/?q={node.dialogue_id}").status_code == 200
    assert b"Tea time" not in operator.get("/admin/synth/dialogue/?q=pia").content


@pytest.mark.parametrize("path", ["", "add/", "{pk}/change/", "{pk}/delete/"])
def test_nobody_edits_and_trainers_see_nothing(
    operator: Client, trainer: Client, node: Message, path: str
) -> None:
    url = f"/admin/synth/message/{path.format(pk=node.pk)}"
    assert trainer.get(url).status_code in (302, 403)
    if path in ("add/", "{pk}/delete/"):
        assert operator.get(url).status_code == 403
    assert operator.post(f"/admin/synth/message/{node.pk}/change/", {"content": "x"}).status_code == 403
    node.refresh_from_db()
    assert node.content == "<b>Plum cake</b>"
