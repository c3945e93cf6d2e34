"""`up` refuses with one clear line instead of failing half way."""

import socket
import subprocess

import pytest

from synth.stack.home import CHECKOUT
from synth.tests.stack.tree import REAL


def refused(tree, **env: str) -> str:
    done = subprocess.run(
        [tree.python, *REAL],
        env={**tree.env, **env},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


def test_one_store_url_alone_is_refused(new_tree):
    assert "only REDIS_URL is set" in refused(new_tree(), REDIS_URL="redis://127.0.0.1:1/0")


def test_a_taken_port_is_refused(new_tree):
    tree = new_tree()
    with socket.socket() as other:
        other.bind(("127.0.0.1", tree.port))
        other.listen(1)
        assert f"port {tree.port}" in refused(tree)


@pytest.mark.parametrize("port", ["0", "70000", "http", "-1"])
def test_a_port_that_is_no_port_is_refused(new_tree, port):
    assert "PORT must be" in refused(new_tree(), PORT=port)


def test_a_home_that_cannot_be_made_is_refused(new_tree, tmp_path):
    (tmp_path / "file").touch()
    assert "SYNTH_HOME" in refused(new_tree("file"))


@pytest.mark.slow
def test_a_second_instance_is_refused_and_names_the_first(new_tree):
    tree = new_tree().start()
    assert tree.process is not None
    message = refused(tree)
    assert f"pid {tree.process.pid}" in message
    assert tree.signal() == 0
