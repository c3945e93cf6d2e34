"""Two processes that seed at the same moment make each person and agent once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from django.utils.timezone import now

from synth.demo import seed
from synth.models import Agent, DiaryEntry, Person
from synth.stack import logins


def _seed() -> list[str]:
    try:
        return seed.seed(at=now(), passwords=logins.passwords)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_each_thing_is_made_by_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))
    with ThreadPoolExecutor(2) as pool:
        first, second = (task.result(timeout=60) for task in [pool.submit(_seed), pool.submit(_seed)])
    made = sorted(first + second)
    assert made == ["agent minato", "agent wren", "person guest", "person operator", "person trainer"]
    assert Agent.objects.count() == 2 and Person.objects.count() == 3
    told = list(DiaryEntry.objects.values_list("agent", "content"))
    assert len(set(told)) == len(told)
    assert all(Person.objects.get(username=n).check_password(w) for n, w in logins.read().items())
