"""The one table of roles: what runs, how, how it is asked whether it lives, how long it may take to stop.

The supervisor reads it, and a test holds `docker-compose.yml` to it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field

COMMON_ENV = {
    "PYTHONUNBUFFERED": "1",
    "MALLOC_ARENA_MAX": "2",  # glibc keeps one arena a thread otherwise: tens of MB in the worker
}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_ASK_WEB = (
    "import os, urllib.request as request; "
    "request.urlopen('http://127.0.0.1:' + os.environ.get('PORT', '8000') + '/readyz', timeout=5)"
)


@dataclass(frozen=True)
class Role:
    """One kind of process. `command` starts with `python`; `{bind}` and `{port}` in it are filled in."""

    name: str
    does: str
    command: tuple[str, ...]
    healthcheck: tuple[str, ...]
    grace_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    needs_module: str = ""

    def filled(self, *, bind: str, port: int) -> list[str]:
        """The command with address and port."""
        return [part.format(bind=bind, port=port) for part in self.command]

    @property
    def is_possible(self) -> bool:
        """Whether the package this role needs is installed; found without importing it."""
        return not self.needs_module or importlib.util.find_spec(self.needs_module) is not None


def _alive(role: str) -> tuple[str, ...]:
    return ("python", "manage.py", "role_alive", role)


_WORKER = (
    "python",
    "-m",
    "celery",
    "-A",
    "synth",
    "--quiet",
    "worker",
    "--without-gossip",
    "--without-mingle",
)

ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role(
            name="web",
            does="pages, REST and event streams",
            command=(
                *(
                    "python",
                    "-m",
                    "uvicorn",
                    "synth.asgi:application",
                    "--host",
                    "{bind}",
                    "--port",
                    "{port}",
                ),
                *("--http", "synth.net.connections:Protocol"),
                *("--timeout-graceful-shutdown", "3", "--no-access-log"),
            ),
            healthcheck=("python", "-c", _ASK_WEB),
            grace_s=10,
            env=_ONE_THREAD,
        ),
        Role(
            name="worker",
            does="events, ticks and everything that asks a language model",
            command=(*_WORKER, "-Q", "default,llm", "-P", "threads", "-c", "8", "-n", "worker@%h"),
            healthcheck=_alive("worker"),
            grace_s=22,
            env=_ONE_THREAD,
        ),
        Role(
            name="torch",
            does="local models, one process a device",
            command=("python", "manage.py", "inference_worker"),
            healthcheck=_alive("torch"),
            grace_s=22,
            # Threads that wait must not spin: the other processes share the cores.
            env={"TOKENIZERS_PARALLELISM": "false", "OMP_WAIT_POLICY": "PASSIVE"},
            needs_module="torch",
        ),
        Role(
            name="beat",
            does="the metronome: rings every minute, one leader among any number",
            command=(
                *("python", "-m", "celery", "-A", "synth", "--quiet", "beat"),
                *("--scheduler", "synth.beat:LeaderScheduler", "--pidfile="),
            ),
            healthcheck=_alive("beat"),
            grace_s=10,
            env=_ONE_THREAD,
        ),
    )
}
