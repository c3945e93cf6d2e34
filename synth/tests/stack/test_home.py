"""The home: paths, secrets and the rules of its environment variables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.stack import home as homes
from synth.stack.home import Home, StackError


def test_the_default_home_is_var_in_the_checkout():
    assert homes.resolve({}).path == homes.CHECKOUT / "var"


def test_a_relative_home_counts_from_the_checkout():
    assert homes.resolve({"SYNTH_HOME": "elsewhere"}).path == homes.CHECKOUT / "elsewhere"


@pytest.mark.parametrize("name", ["with space", "x" * 120, "ümlaut", "per%cent"])
def test_sockets_of_an_unusual_home_have_a_short_plain_path(name):
    home = Home(Path("/srv") / name)
    assert len(str(home.pg_socket_dir / ".s.PGSQL.5432")) < 100
    assert homes.PLAIN_PATH.fullmatch(str(home.valkey_socket))
    assert home.sockets == Home(home.path).sockets
    assert home.sockets != Home(home.path / "b").sockets


def test_a_secret_is_made_once_readable_by_its_owner_only(tmp_path):
    env = {"SYNTH_HOME": str(tmp_path)}
    first = homes.secret("FIELD_KEY", env)
    assert homes.secret("FIELD_KEY", env) == first
    assert homes.secret("SECRET_KEY", env) != first
    assert (tmp_path / "keys" / "FIELD_KEY").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "keys").iterdir() if path.name.startswith(".")] == []


def test_a_secret_in_the_environment_wins(tmp_path):
    assert homes.secret("SECRET_KEY", {"SYNTH_HOME": str(tmp_path), "SECRET_KEY": "given"}) == "given"
    assert not (tmp_path / "keys").exists()


def test_with_real_servers_a_missing_secret_is_refused(tmp_path):
    with pytest.raises(StackError, match="SECRET_KEY must be set"):
        homes.secret("SECRET_KEY", {"SYNTH_HOME": str(tmp_path), "DATABASE_URL": "postgres://db/x"})


def test_a_damaged_secret_is_refused_not_replaced(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "FIELD_KEY").write_text("")
    with pytest.raises(StackError, match="damaged"):
        homes.secret("FIELD_KEY", {"SYNTH_HOME": str(tmp_path)})


def test_many_processes_on_a_fresh_home_agree_on_a_secret(tmp_path):
    code = "from synth.stack.home import secret; print(secret('SECRET_KEY'))"
    env = {**os.environ, "SYNTH_HOME": str(tmp_path), "SYNTH_EMBEDDED": "1"}
    env.pop("SECRET_KEY", None)
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE) for _ in range(6)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_one_store_url_alone_is_refused(name):
    with pytest.raises(StackError, match=f"only {name} is set"):
        homes.check_urls({name: "x://y"})


def test_a_socket_folder_somebody_else_prepared_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StackError, match="not a private folder"):
        homes.private_folder(tmp_path / "link")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(StackError, match="not a private folder"):
        homes.private_folder(tmp_path / "open")
