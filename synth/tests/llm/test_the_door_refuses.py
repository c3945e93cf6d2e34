"""What the door refuses: transactions, missing models, overspending, hosts elsewhere."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from django.db import connections, transaction
from django.utils.timezone import now

from synth.llm import LlmError, Message, Request, complete, is_configured
from synth.llm.reasons import REASONS
from synth.llm.spend import spent_today
from synth.models import Agent, LlmCall
from synth.testing.malformed import REPLIES
from synth.testing.scripted_host import ScriptedHost


def ask(agent=None, **more):
    return complete(Request("chat", [Message("user", "hi")], agent=agent, **more))


def refusal(agent=None, **more) -> LlmError:
    with pytest.raises(LlmError) as caught:
        ask(agent, **more)
    return caught.value


@pytest.fixture
def agent():
    return Agent.objects.create(slug="wren", name="Wren")


@pytest.mark.django_db
def test_a_transaction_is_refused_and_nothing_is_sent():
    with ScriptedHost(["a"]) as host, host.installed():
        with transaction.atomic():
            assert refusal().reason == "in_transaction"
        assert host.requests == []
        assert ask().text == "a"


@pytest.mark.django_db(transaction=True)
def test_the_database_connection_is_given_back_during_the_call():
    seen = []

    def reply(body):
        seen.append(connection_of_caller.connection is None)
        return "a"

    connection_of_caller = connections["default"]
    with ScriptedHost(reply) as host, host.installed():
        LlmCall.objects.count()
        connection_of_caller = connections["default"]  # the server asks from another thread
        ask()
    assert seen == [True]


@pytest.mark.django_db(transaction=True)
def test_a_real_transaction_is_refused():
    with ScriptedHost(["a"]) as host, host.installed(), transaction.atomic():
        assert refusal().reason == "in_transaction"
        assert LlmCall.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("url", [None, "", "local", "ftp://x", "http://"])
def test_without_a_model_nothing_is_sent(settings, url):
    settings.LLM_BASE_URL = url
    assert not is_configured()
    assert refusal().reason == "no_language_model"
    assert LlmCall.objects.count() == 0


@pytest.mark.django_db
def test_the_call_after_the_cap_is_refused(agent):
    with ScriptedHost(["a"], repeat_last=True) as host, host.installed(LLM_DAILY_TOKENS=200):
        ask(agent)
        ask(agent)
        error = refusal(agent)
        assert (error.reason, error.retryable) == ("spend_cap", False)
        assert ask(None).text == "a"
    assert len(host.requests) == 3
    assert LlmCall.objects.filter(agent=agent, outcome="spend_cap").count() == 1


@pytest.mark.django_db
def test_the_cap_of_the_agent_wins_and_zero_means_none(agent):
    with ScriptedHost(["a"], repeat_last=True) as host, host.installed(LLM_DAILY_TOKENS=1):
        agent.daily_token_cap = 0
        ask(agent)
        ask(agent)
        agent.daily_token_cap = 240
        assert refusal(agent).reason == "spend_cap"


@pytest.mark.django_db
def test_yesterday_does_not_count(agent):
    with ScriptedHost(["a"]) as host, host.installed():
        ask(agent)
    assert spent_today(agent, now()) == 120
    LlmCall.objects.update(at=now() - timedelta(days=1))
    assert spent_today(agent, now()) == 0


@pytest.mark.django_db
def test_what_was_spent_is_the_agents_tokens_since_midnight_utc(agent):
    other = Agent.objects.create(slug="rook", name="Rook")
    at = datetime(2026, 3, 4, 1, 30, tzinfo=timezone(timedelta(hours=9)))  # 16:30 the day before in UTC
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    calls = [
        (agent, midnight, 1, 20), (agent, at, 300, None), (agent, at, None, 4_000), (agent, at, None, None),
        (agent, midnight - timedelta(microseconds=1), 7, 7), (other, at, 7, 7), (None, at, 7, 7),
    ]  # fmt: skip
    for whose, when, prompt, completion in calls:
        LlmCall.objects.create(
            agent=whose, at=when, purpose="chat", n_prompt_tokens=prompt, n_completion_tokens=completion
        )
    assert spent_today(agent, at) == 4_321
    assert spent_today(Agent(pk=0), at) == 0


@pytest.mark.django_db
def test_a_local_only_agent_never_leaves_the_network(agent, monkeypatch):
    real = socket.getaddrinfo

    def look_up(host, *args, **kwargs):
        if host != "models.example":
            return real(host, *args, **kwargs)
        return [(0, 0, 0, "", ("127.0.0.1", 0)), (0, 0, 0, "", ("8.8.8.8", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    agent.local_only = True
    with (
        ScriptedHost(["a"], repeat_last=True) as host,
        host.installed(LLM_BASE_URL=f"http://models.example:{host.port}"),
    ):
        assert refusal(agent).reason == "local_only"
        assert host.requests == []
        agent.local_only = False
        assert ask(agent).text == "a"  # and connects to what was resolved
    assert LlmCall.objects.filter(outcome="local_only").count() == 1


@pytest.mark.django_db
def test_a_local_only_agent_may_use_this_machine(agent):
    agent.local_only = True
    with ScriptedHost(["a"]) as host, host.installed():
        assert ask(agent).text == "a"


def test_every_reason_is_reached_by_a_test():
    folder = Path(__file__).resolve().parent
    tests = "".join(path.read_text() for path in folder.glob("test_*.py"))
    reached = {case.outcome for case in REPLIES} | {one for one in REASONS if f'"{one}"' in tests}
    assert set(REASONS) <= reached
