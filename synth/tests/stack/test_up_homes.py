"""`up` works on homes with spaces, very long homes, as root and as an ordinary user."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from synth.tests.stack.tree import NOBODY, python_of_nobody

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["a home with spaces & ümläut's %41", "/".join(["a-very-long-folder-name-" + "x" * 40] * 6)]
)
def test_an_unusual_home_works(new_tree, name):
    tree = new_tree(name, **{})
    tree.home.parent.mkdir(parents=True, exist_ok=True)
    tree.start()
    shown = tree.manage("showmigrations", "synth")
    assert shown.returncode == 0, shown.stderr
    assert tree.signal() == 0
    assert tree.pids() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("how", ["namespace", "setuid"])
def test_root_runs_postgresql_without_root_rights(new_tree, how):
    tree = new_tree(SYNTH_PG_ROOT=how)
    top = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    top.chmod(0o755)
    try:
        tree.home = top / "home"
        tree.env["SYNTH_HOME"] = str(tree.home)
        tree.start()
        owner = (tree.home / "postgres" / "data").stat().st_uid
        assert (owner == 0) == (how == "namespace")
        assert tree.signal() == 0
        tree.env["SYNTH_PG_ROOT"] = "namespace"  # the other way on the same files
        tree.start()
        assert tree.signal() == 0
        assert tree.pids() == []
    finally:
        tree.destroy()
        shutil.rmtree(top)


def test_an_ordinary_user_runs_it(new_tree):
    python = python_of_nobody()
    if python is None:
        pytest.skip("needs root and a Python that other users can run")
    tree = new_tree()
    top = Path(tempfile.mkdtemp())
    try:
        os.chown(top, NOBODY["user"], NOBODY["group"])
        tree.user, tree.python = NOBODY, python
        tree.home = top / "home"
        tree.env |= {"SYNTH_HOME": str(tree.home), "HOME": str(top)}
        tree.start()
        assert (tree.home / "postgres" / "data").stat().st_uid == NOBODY["user"]
        assert {os.stat(f"/proc/{pid}").st_uid for pid in tree.pids("postgres")} == {NOBODY["user"]}
        assert tree.signal() == 0
        assert tree.pids() == []
    finally:
        tree.destroy()
        shutil.rmtree(top)
