"""A value in the environment that its option does not allow, and a missing secret, stop the start by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.options import OPTIONS, BadOption, Option
from synth.stack.home import SECRETS

ROOT = Path(__file__).resolve().parents[3]
SERVERS = {"DATABASE_URL": "postgres://synth@127.0.0.1:1/synth", "REDIS_URL": "redis://127.0.0.1:1/0"}


def load(**env: str) -> subprocess.CompletedProcess[str]:
    """Read the settings in an interpreter of their own; nothing is connected to."""
    base = {name: value for name, value in os.environ.items() if name not in (*SECRETS, "SYNTH_EMBEDDED")}
    secrets = dict.fromkeys(SECRETS, "x" * 40)
    return subprocess.run(
        [sys.executable, "-c", "import synth.settings"],
        env=base | secrets | SERVERS | env, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_servers_and_secrets_are_enough():
    assert load().returncode == 0


@pytest.mark.parametrize("name", SECRETS)
def test_with_servers_given_each_secret_is_required(name):
    run = load(**{name: ""})
    assert run.returncode != 0 and f"{name} is required with DATABASE_URL" in run.stderr


def test_a_value_that_does_not_fit_names_its_variable_and_what_is_allowed():
    run = load(LOG_LEVEL="loud")
    assert run.returncode != 0 and "LOG_LEVEL='loud': allowed are debug, info" in run.stderr


def test_another_kind_of_database_is_refused():
    run = load(DATABASE_URL="sqlite:///x.db")
    assert run.returncode != 0 and "must name a PostgreSQL server" in run.stderr


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_every_bounded_option_refuses_what_is_outside(option: Option):
    wrong = {"int": ["x", "1.5", "-1"], "bool": ["perhaps", "2"], "choice": ["nothing-like-it"]}
    for raw in wrong.get(option.kind, []):
        with pytest.raises(BadOption, match=option.name):
            option.parse(raw)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_a_blank_variable_is_an_unset_one(option: Option):
    assert option.read({option.name: "  "}) == option.default
