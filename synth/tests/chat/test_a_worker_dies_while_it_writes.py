"""A worker killed in the middle of an answer leaves what was saved, and its viewers hear that it is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from synth.models import Message, TurnState
from synth.services import dialogues, turns
from synth.testing.scripted_host import ScriptedHost
from synth.tests.chat.conftest import tree
from synth.tests.chat.running import told, until
from synth.tests.chat.test_one_answer_at_a_time import database

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
TEXT = "one two three four five six seven eight nine ten " * 20
SLOW = {"content": TEXT, "token_s": 0.1}
LISTENS = """
import django
django.setup()
import time
from synth.chat.listener import Listener
Listener().start()
time.sleep(600)
"""


@pytest.fixture
def start():
    """Starts worker processes that listen, and ends what is left of them."""
    started: list[subprocess.Popen[bytes]] = []

    def go(host):
        environment = {
            **os.environ, "DATABASE_URL": database(), "LLM_BASE_URL": host.base_url,
            "DJANGO_SETTINGS_MODULE": "synth.settings",
        }  # fmt: skip
        command = [sys.executable, "-W", "ignore", "-c", LISTENS]
        started.append(subprocess.Popen(command, env=environment, cwd=django_settings.BASE_DIR))
        return started[-1]

    yield go
    for process in started:
        process.kill()
        process.wait()


def is_over(answer):
    found = told(answer)
    return bool(found) and found[-1].is_terminal


def test_what_was_saved_is_kept_and_the_viewers_hear_of_the_end(dialogue, start):
    with ScriptedHost([SLOW, "Here I am."]) as host:
        worker = start(host)
        answer = turns.begin(dialogue, dialogue.person, "Hello?").answer
        saved = until(lambda: Message.objects.filter(pk=answer.pk).exclude(content="").first(), 120)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        n_told = len(told(answer))
        saved.refresh_from_db()
        Message.objects.filter(pk=answer.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        assert dialogues.settle_crashed(timezone.now()) == 1
        answer.refresh_from_db()
        assert (answer.status, answer.metadata["reason"]) == ("failed", "crashed")
        assert answer.content == saved.content and TEXT.startswith(answer.content)
        assert not TurnState.objects.exists()
        last = told(answer)[-1]
        assert (last.n, last.name, last.data["code"]) == (n_told + 1, "error", "crashed")
        start(host)
        again = turns.begin(dialogue, dialogue.person, "Still there?").answer
        until(partial(is_over, again), 120)
    assert tree(dialogue)[-1] == ("assistant", "complete", "Here I am.")


def test_with_two_workers_every_turn_runs_once_and_a_dead_ones_row_is_not_begun_again(agent, start):
    from synth.services import people

    rows = [dialogues.create(agent, people.ensure(f"p{n}")) for n in range(6)]
    with ScriptedHost(lambda _request: {"content": "Hello you.", "token_s": 0.2}) as host:
        start(host)
        start(host)
        answers = [turns.begin(row, row.person, "Hi").answer for row in rows]
        for answer in answers:
            until(partial(is_over, answer), 120)
            answer.refresh_from_db()
            assert (answer.status, answer.content, answer.attempt) == ("complete", "Hello you.", 1)
    assert len(host.requests) == 6
