"""A process that stops signing is dead to health within 20 s; one that leaves, at once."""

from __future__ import annotations

import os
import time

import pytest
from django.core.management import CommandError, call_command

from synth import liveness


@pytest.fixture(autouse=True)
def clean():
    liveness.client().delete("synth:alive:torch", liveness.key_of("torch", "elsewhere:1"))
    yield
    liveness.leave("torch")
    liveness.client().delete("synth:alive:torch", liveness.key_of("torch", "elsewhere:1"))


def me() -> str:
    return f"{liveness.here()}:{os.getpid()}"


def test_a_sign_lives_for_twenty_seconds():
    liveness.sign("torch", "busy")
    assert liveness.alive("torch") == {me(): "busy"}
    assert 15 < liveness.client().ttl(liveness.key_of("torch", me())) <= 20


def test_a_process_whose_sign_ran_out_is_forgotten():
    liveness.sign("torch")
    liveness.client().delete(liveness.key_of("torch", me()))
    assert liveness.alive("torch") == {}
    assert liveness.client().scard("synth:alive:torch") == 0


def test_a_heartbeat_signs_until_it_is_stopped():
    heartbeat = liveness.Heartbeat("torch", every_s=0.05)
    heartbeat.start()
    end = time.monotonic() + 10
    while not liveness.alive("torch") and time.monotonic() < end:
        time.sleep(0.02)
    assert liveness.alive("torch")
    heartbeat.stop()
    assert liveness.alive("torch") == {}


def test_a_heartbeat_survives_a_redis_that_is_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    heartbeat = liveness.Heartbeat("torch", every_s=0.05)
    heartbeat.start()
    time.sleep(0.2)
    assert heartbeat._thread.is_alive()
    heartbeat.stop()


def test_the_command_answers_for_this_host(capsys):
    with pytest.raises(CommandError, match="no torch is alive"):
        call_command("role_alive", "torch")
    liveness.sign("torch")
    call_command("role_alive", "torch")
    assert me() in capsys.readouterr().out


def test_the_command_tells_hosts_apart():
    liveness.client().set(liveness.key_of("torch", "elsewhere:1"), "up", ex=20)
    liveness.client().sadd("synth:alive:torch", "elsewhere:1")
    with pytest.raises(CommandError):
        call_command("role_alive", "torch")
    call_command("role_alive", "torch", "--anywhere")


def test_the_command_fails_when_redis_is_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    with pytest.raises(CommandError, match="redis does not answer"):
        call_command("role_alive", "worker")


def test_a_role_that_does_not_exist_is_refused():
    with pytest.raises(CommandError):
        call_command("role_alive", "cook")
