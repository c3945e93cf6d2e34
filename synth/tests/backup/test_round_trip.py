"""What a backup holds is what a restore brings, row for row."""

import gzip
import json
import tarfile

import pytest
from django.core.management import call_command
from django.db import connection

from synth.backup import archive, catalog
from synth.models import Agent, Install, Memory
from synth.tests.backup import world

pytestmark = pytest.mark.django_db(transaction=True)


def contents(rows):
    """Every row of every backed-up table as text, sorted; the epoch aside."""
    found = {}
    for name in catalog.tables():
        if not catalog.is_left_out(name):
            text = "to_jsonb(t) - 'epoch'" if name == "synth_install" else "to_jsonb(t)"
            found[name] = sorted(row[0] for row in rows(f'SELECT ({text})::text FROM "{name}" t'))
    return found


def here(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
def test_a_restore_into_an_empty_database_brings_equal_rows(databases, tmp_path, ending):
    world.make()
    Install.objects.get_or_create()
    file = tmp_path / f"synth.{ending}"
    call_command("backup", str(file))
    other = databases("round")
    done = other.manage("restore", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert contents(other.rows) == contents(here)


def test_ids_go_on_where_they_stood(databases, tmp_path):
    agent = world.make()
    Memory.objects.filter(agent=agent).latest("id").delete()
    file = tmp_path / "synth.tar.gz"
    call_command("backup", str(file))
    other = databases("ids")
    other.manage("restore", str(file))
    wanted = here("SELECT last_value FROM synth_memory_id_seq")
    assert other.rows("SELECT last_value FROM synth_memory_id_seq") == wanted


def test_numbers_given_out_since_the_backup_are_not_given_to_other_rows(databases, tmp_path):
    """What Redis and clients still hold of row 9 must not be taken for what they hold of another row 9."""
    world.make()
    file = tmp_path / "synth.tar.gz"
    call_command("backup", str(file))
    other = databases("numbers")
    assert other.manage("restore", str(file)).returncode == 0
    with other.connect() as link:
        given = link.execute("SELECT nextval('synth_message_id_seq') FROM generate_series(1, 5)").fetchall()
    done = other.manage("restore", str(file), "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    assert other.rows("SELECT nextval('synth_message_id_seq')") == [(given[-1][0] + 1,)]


def test_a_restore_changes_the_epoch_and_says_what_it_did(databases, tmp_path):
    world.make()
    install, _ = Install.objects.get_or_create()
    file = tmp_path / "synth.tar"
    call_command("backup", str(file))
    other = databases("epoch")
    done = other.manage("restore", str(file))
    assert "Restored" in done.stdout and "New epoch" in done.stdout
    (epoch,) = other.rows("SELECT epoch::text FROM synth_install")[0]
    assert epoch != str(install.epoch) and epoch in done.stdout


def test_the_file_is_private_and_complete_or_absent(tmp_path):
    world.make()
    file = tmp_path / "synth.tar.gz"
    call_command("backup", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["synth.tar.gz"]


def test_rows_larger_than_a_piece_are_cut_and_joined_again(databases, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "PIECE_BYTES", 1000)
    world.make(40)
    file = tmp_path / "synth.tar"
    call_command("backup", str(file))
    manifest = archive.verify(file)
    assert max(len(table.pieces) for table in manifest.tables) > 10
    other = databases("pieces")
    other.manage("restore", str(file))
    assert contents(other.rows)["synth_memory"] == contents(here)["synth_memory"]


def test_logins_are_left_out(tmp_path):
    file = tmp_path / "synth.tar"
    call_command("backup", str(file))
    names = [table.name for table in archive.verify(file).tables]
    assert "django_session" not in names and not [name for name in names if name.startswith("axes_")]
    assert "synth_memory" in names and "growth_growthrun" in names
    assert "synth_memoryvector" not in names, "made again from the memories"


def test_keys_are_inside_only_on_the_embedded_stack_and_when_wanted(tmp_path, settings):
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "FIELD_KEY").write_text("secret\n")
    settings.SYNTH_HOME = tmp_path
    for embedded, options, wanted in ((True, [], 1), (True, ["--without-keys"], 0), (False, [], 0)):
        settings.IS_EMBEDDED = embedded
        file = tmp_path / f"{embedded}{len(options)}.tar"
        call_command("backup", str(file), *options)
        assert len(archive.verify(file).keys) == wanted


def test_the_manifest_names_format_version_and_migrations(tmp_path):
    file = tmp_path / "synth.tar.gz"
    call_command("backup", str(file))
    with gzip.open(file) as packed, tarfile.open(fileobj=packed) as tar:
        member = tar.extractfile(archive.MANIFEST)
        assert member is not None
        manifest = json.load(member)
    assert manifest["format"] == 1 and manifest["version"] and manifest["migrations"]["synth"]
    assert Agent._meta.db_table in {table["name"] for table in manifest["tables"]}
