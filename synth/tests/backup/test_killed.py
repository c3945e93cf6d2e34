"""A restore that is killed leaves the old data; run again, it finishes."""

import signal

import pytest
from django.core.management import call_command

from synth.tests.backup import world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_a_kill_before_the_commit_leaves_the_old_data(databases, tmp_path):
    agent = world.make()
    old = databases("killed")
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    call_command("backup", str(first))
    agent.slug = "renamed"
    agent.save()
    call_command("backup", str(second))
    assert old.manage("restore", str(first)).returncode == 0
    for point in ("restore.load.between", "restore.load.between:9", "restore.commit.before"):
        done = old.manage("restore", str(second), "--force", SYNTH_FAULT=point)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert old.rows("SELECT slug FROM synth_agent") == [("wren",)]
    assert old.manage("restore", str(second), "--force").returncode == 0
    assert old.rows("SELECT slug FROM synth_agent") == [("renamed",)]


@pytest.mark.slow
def test_a_restore_after_the_restored_data_changed_brings_the_old_state_back(databases, tmp_path):
    world.make()
    file = tmp_path / "synth.tar.gz"
    call_command("backup", str(file))
    other = databases("back")
    assert other.manage("restore", str(file)).returncode == 0
    with other.connect() as link:
        link.execute("UPDATE synth_agent SET slug = 'lost'")
        link.execute("DROP TABLE synth_memoryterm")
    done = other.manage("restore", str(file), "--force")
    assert done.returncode == 0, done.stderr
    assert other.rows("SELECT slug FROM synth_agent") == [("wren",)]
