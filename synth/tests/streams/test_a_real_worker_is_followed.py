"""From a request through a real worker and a model's host to the last event, and back when somebody stops."""

from __future__ import annotations

import json
import os

import pytest

from synth.models import Message
from synth.testing.scripted_host import Reply, ScriptedHost
from synth.tests.beat.processes import worker
from synth.tests.streams.served import Web, eventually

pytestmark = pytest.mark.slow


def test_a_turn_is_streamed_waited_for_stopped_and_left(dialogue, bearer, tmp_path):
    replies: list[Reply] = ["Hello, Pia — 🜂.", "Waited for.", {"hang": True}, {"hang": True}]
    with ScriptedHost(replies) as host:
        env = {"LLM_BASE_URL": host.base_url, "LLM_MODEL": "scripted", "REDIS_URL": os.environ["REDIS_URL"]}
        with Web(tmp_path / "web.log", **env) as web, worker(tmp_path / "worker.log", **env):
            body = {"dialogue": str(dialogue.pk), "content": "Hello?"}
            with web.open("POST", "/api/chat/stream", body, **bearer) as client:
                client.connection.settimeout(60)
                told = list(client.events())
            assert told[0].event == "message.start" and told[-1].event == "message.end"
            words = "".join(event.json["text"] for event in told if event.event == "delta")
            assert words == told[-1].json["message"]["content"] == "Hello, Pia — 🜂."
            assert [int(event.id) % 1_000_000 for event in told] == list(range(1, len(told) + 1))

            status, _, raw = web.ask("POST", "/api/chat/", {**body, "content": "And?"}, **bearer)
            said = json.loads(raw)
            assert (status, said["message"]["content"], said["approvals"]) == (200, "Waited for.", [])

            with web.open("POST", "/api/chat/stream", {**body, "content": "Long?"}, **bearer) as client:
                events = client.events()
                start = next(events).json
                assert eventually(lambda: len(host.requests) == 3)
                assert web.ask("POST", f"/api/chat/{start['message_id']}/stop/", **bearer)[0] == 200
                (end,) = list(events)
            assert (end.event, end.json["finish_reason"]) == ("message.end", "cancelled")

            with web.open("POST", "/api/chat/stream", {**body, "content": "Bye?"}, **bearer) as client:
                answer = next(client.events()).json["message_id"]
                assert eventually(lambda: len(host.requests) == 4)
            assert eventually(lambda: Message.objects.get(pk=answer).status == "cancelled", 20)
            assert Message.objects.get(pk=answer).metadata["reason"] == "left"
