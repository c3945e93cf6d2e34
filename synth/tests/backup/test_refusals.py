"""A restore that cannot be right changes nothing and says why."""

import json
import tarfile

import pytest
from django.core.management import CommandError, call_command

from synth.backup import archive, load
from synth.models import Agent
from synth.tests.backup import world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(tmp_path):
    world.make()
    path = tmp_path / "synth.tar"
    call_command("backup", str(path))
    return path


def rewrite(path, change):
    """Write the archive again with its manifest changed and its checksum right."""
    members = dict(archive.members(path))
    manifest = json.loads(members.pop(archive.MANIFEST))
    members.pop(archive.MANIFEST_SUM)
    change(manifest, members)
    with path.open("wb") as out, tarfile.open(fileobj=out, mode="w|") as tar:
        writer = archive.Writer(tar)
        for name, data in members.items():
            writer.add(name, data)
        member = writer.add(archive.MANIFEST, json.dumps(manifest).encode())
        writer.add(archive.MANIFEST_SUM, member.sha256.encode())


def refused(path, *options):
    with pytest.raises(CommandError, match="nothing was changed") as caught:
        call_command("restore", str(path), *options)
    assert Agent.objects.get().slug == "wren"
    return str(caught.value)


def test_one_changed_byte_is_seen(file):
    raw = bytearray(file.read_bytes())
    at = raw.index(b"wren\tWren")
    raw[at] ^= 1
    file.write_bytes(raw)
    assert "checksum" in refused(file, "--force")


def test_a_file_that_was_cut_off_is_refused(file):
    raw = file.read_bytes()
    for size in (0, 100, len(raw) // 2, raw.rindex(archive.MANIFEST.encode()) - 1):
        file.write_bytes(raw[:size])
        refused(file, "--force")


def test_a_file_that_is_no_backup_is_refused(tmp_path, file):
    other = tmp_path / "x.tar"
    other.write_text("hello" * 1000)
    refused(other, "--force")
    refused(tmp_path / "missing.tar", "--force")


def test_a_member_too_many_is_refused(file):
    rewrite(file, lambda manifest, members: members.update({"../../etc/passwd": b"x"}))
    assert "../../etc/passwd" in refused(file, "--force")


def test_a_newer_format_is_refused(file):
    rewrite(file, lambda manifest, members: manifest.update(format=99))
    assert "format 99" in refused(file, "--force")


def test_migrations_of_a_newer_version_are_refused(file):
    rewrite(file, lambda manifest, members: manifest["migrations"]["synth"].append("0999_future"))
    assert "synth.0999_future" in refused(file, "--force")


def test_a_wrong_number_of_rows_rolls_everything_back(file):
    def change(manifest, members):
        next(t for t in manifest["tables"] if t["name"] == "synth_agent")["n_rows"] = 7

    rewrite(file, change)
    with pytest.raises(archive.BadBackup, match="7"):
        load.restore(file, force=True)
    assert Agent.objects.get().slug == "wren"


def test_a_database_with_data_is_refused_without_force(file):
    assert "--force" in refused(file)


def test_a_database_in_use_is_refused_without_force(file, databases):
    other = databases("busy")
    with other.connect():
        done = other.manage("restore", str(file))
    assert done.returncode == 1 and "other sessions" in done.stderr


def test_a_database_of_somebody_else_is_refused_even_with_force(file, databases):
    other = databases("foreign")
    with other.connect() as link:
        link.execute("CREATE TABLE invoices (id int)")
    done = other.manage("restore", str(file), "--force")
    assert done.returncode == 1 and "invoices" in done.stderr
    assert other.rows("SELECT count(*) FROM invoices") == [(0,)]


def test_a_running_server_of_this_home_is_refused_even_with_force(file, tmp_path, settings):
    from synth.stack.procs import open_lock, try_lock

    (tmp_path / "run").mkdir()
    lock = open_lock(tmp_path / "run" / "up.lock")
    assert try_lock(lock)
    settings.IS_EMBEDDED, settings.SYNTH_HOME = True, tmp_path
    assert "running" in refused(file, "--force")


def test_an_existing_backup_is_not_written_over_by_accident(file):
    before = file.read_bytes()
    with pytest.raises(CommandError, match="exists"):
        call_command("backup", str(file))
    assert file.read_bytes() == before
    call_command("backup", str(file), "--replace")


def test_a_name_without_tar_is_refused(tmp_path):
    with pytest.raises(CommandError, match="named"):
        call_command("backup", str(tmp_path / "synth.zip"))
