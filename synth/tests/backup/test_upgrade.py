"""Data of every earlier version comes into this one, migrates, and works."""

import pytest
from django.core.management import call_command

from synth.backup import archive, load
from synth.models import Agent, DiaryEntry, Memory, MemoryTerm
from synth.services import memories
from synth.tests.backup.make_upgrade_data import DATA

FILES = sorted(DATA.glob("v*.tar.gz"))


def test_there_is_data_of_an_earlier_version():
    assert FILES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_data_of_an_earlier_version_is_restored_and_migrated(databases, file):
    other = databases("upgrade")
    done = other.manage("restore", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    manifest = archive.verify(file)
    for table in manifest.tables:
        if table.name in ("synth_agent", "synth_memory", "synth_diaryentry", "growth_growthstate"):
            assert other.rows(f"SELECT count(*) FROM {table.name}") == [(table.n_rows,)]
    checked = other.manage("migrate", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert other.manage("reindex_memories").returncode == 0


@pytest.mark.django_db(transaction=True)
def test_numbers_of_tables_that_an_earlier_version_had_not_are_not_given_again(databases):
    other = databases("later")
    assert other.manage("restore", str(FILES[0])).returncode == 0
    assert "judgments_runevent_id_seq" not in archive.verify(FILES[0]).sequences
    other.rows("SELECT setval('judgments_runevent_id_seq', 500)")
    assert other.manage("restore", str(FILES[0]), "--force").returncode == 0
    assert other.rows("SELECT nextval('judgments_runevent_id_seq')") == [(501,)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_restored_memories_are_recalled(file):
    load.restore(file, force=True)
    try:
        for agent in Agent.objects.all():
            memory = Memory.objects.filter(agent=agent, about=None).exclude(name="").first()
            if memory is not None:
                found = memories.recall(agent, memory.text, about=None, limit=3)
                assert memory in [one.memory for one in found]
        assert DiaryEntry.objects.exists() and MemoryTerm.objects.exists()
    finally:
        call_command("flush", interactive=False, verbosity=0)
