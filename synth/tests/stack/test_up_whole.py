"""The real `manage.py up`: every role, the demo, the second start, its size, and real servers instead."""

import os
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from functools import partial

import pytest

from synth.stack import logins
from synth.stack.home import CHECKOUT, SECRETS, Home
from synth.stack.roles import ROLES
from synth.tests.stack.servers import RealServers
from synth.tests.stack.tree import DUMMY, REAL, wait

pytestmark = pytest.mark.slow
HEALTHY_S = 40


def status(tree, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{tree.port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def resident_mib(pids: list[int]) -> float:
    """Sum of resident memory; pages that processes share are counted once for each of them."""
    pages = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as file:
                pages += int(file.read().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def has_other(tree, name: str, before: list[int]) -> bool:
    return bool(set(tree.pids(name)) - set(before))


def test_an_empty_folder_becomes_a_running_demo_that_survives_restarts_and_kills(new_tree):
    # Without the encoder, which reads the demo's memories at the first look and goes ten minutes later.
    tree = new_tree(script=REAL, RECALL_MEANING="false").start()
    assert status(tree, "/healthz") == status(tree, "/readyz") == 200
    file = logins.path(Home(tree.home))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    words = logins.read(Home(tree.home))
    assert words
    assert not any(word in tree.output() for word in words.values())
    assert resident_mib(tree.pids()) < 900
    for name in ("celery -A synth --quiet worker", "uvicorn", "celery -A synth --quiet beat"):
        before = tree.pids(name)
        assert before, name
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        assert wait(partial(has_other, tree, name, before), 20), name
    assert wait(lambda: status(tree, "/healthz") == 200, HEALTHY_S), tree.output()
    assert tree.signal() == 0
    assert tree.pids() == []

    tree.start(seconds=15)
    assert status(tree, "/healthz") == 200
    assert "    seed |" not in tree.output()
    assert logins.read(Home(tree.home)) == words
    tree.signal(signal.SIGKILL)
    assert wait(lambda: not tree.pids(), 15)

    tree.start()
    assert status(tree, "/healthz") == 200
    assert tree.signal(signal.SIGTERM) == 0
    assert tree.pids() == []


@pytest.mark.parametrize("role", [name for name in ROLES if name != "web"])
def test_the_health_command_of_a_role_sees_it_live_and_die(new_tree, role):
    if not ROLES[role].is_possible:
        pytest.skip("torch is not installed")
    tree = new_tree(script=REAL).start()
    assert tree.manage(*ROLES[role].healthcheck[2:]).returncode == 0
    assert tree.signal() == 0
    assert tree.manage(*ROLES[role].healthcheck[2:]).returncode != 0


def test_up_runs_the_same_roles_on_real_servers_and_starts_no_store(new_tree):
    with RealServers() as servers:
        secrets = {name: os.environ[name] for name in SECRETS}
        tree = new_tree(script=REAL, **servers.urls, **secrets).start()
        assert status(tree, "/readyz") == 200
        assert not (tree.home / "postgres").exists()
        assert tree.pids("keeper") == []
        assert tree.signal() == 0
        assert tree.pids() == []


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGKILL])
def test_a_make_that_is_signalled_alone_takes_the_stack_down(new_tree, tmp_path, sig):
    tree = new_tree()
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"run:\n\t@exec '{tree.python}' {' '.join(DUMMY)}\n")
    with open(tree.log, "wb") as out:
        make = subprocess.Popen(
            ["make", "-f", str(makefile), "run"],
            env=tree.env,
            cwd=CHECKOUT,
            stdout=out,
            stderr=out,
            # A runner started in the background ignores SIGINT, and its children would inherit that.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
    assert wait(lambda: "READY" in tree.output())
    make.send_signal(sig)
    make.wait(40)
    assert wait(lambda: not tree.pids(), 20)
