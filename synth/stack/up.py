"""`manage.py up`: one command that starts everything, says where to look, and stops everything again."""

from __future__ import annotations

import argparse
import os
import socket
import time
import urllib.error
import urllib.request

from synth.stack import connect, logins
from synth.stack.home import CHECKOUT, Home, StackError, check_urls, resolve
from synth.stack.procs import open_lock, try_lock
from synth.stack.roles import COMMON_ENV, ROLES
from synth.stack.supervisor import Process, Supervisor

READY_S = 120.0
STORES_GRACE_S = 14.0


def main(argv: list[str] | None = None) -> int:
    """Run the whole stack in the foreground; the exit status."""
    parser = argparse.ArgumentParser(
        prog="manage.py up",
        description="Start the stores (unless DATABASE_URL and REDIS_URL are given), migrate, seed the demo "
        "once, and run web, worker, torch worker and beat until Ctrl-C.",
        epilog="Environment: SYNTH_HOME (var), BIND (127.0.0.1), PORT (8000), DATABASE_URL, REDIS_URL.",
    )
    parser.parse_args(argv)
    home, bind, port = resolve(), os.environ.get("BIND") or "127.0.0.1", read_port()
    has_servers = check_urls()
    home.make()
    lock = take_instance_lock(home)
    refuse_taken_port(bind, port)
    os.environ.update({"BIND": bind, "PORT": str(port), "SYNTH_HOME": str(home.path)})
    try:
        return Up(home, bind, port, has_servers=has_servers).run()
    finally:
        os.close(lock)


def read_port() -> int:
    """`PORT` as a number from 1 to 65535; StackError otherwise."""
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise StackError(f"PORT must be a number from 1 to 65535, not {text!r}")
    return int(text)


def take_instance_lock(home: Home) -> int:
    """The lock of the one `up` a home may have, held by the descriptor; StackError names the other's pid."""
    handle = open_lock(home.run / "up.lock")
    if not try_lock(handle):
        pid = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise StackError(f"Synth already runs in {home.path} (pid {pid}); stop it or set another SYNTH_HOME")
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def refuse_taken_port(bind: str, port: int) -> None:
    """StackError when the web process could not listen there."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StackError(f"cannot listen on {bind} port {port} ({reason}); set PORT or BIND") from error


class Up:
    """One run of the stack."""

    def __init__(self, home: Home, bind: str, port: int, *, has_servers: bool) -> None:
        self.home, self.bind, self.port, self.has_servers = home, bind, port, has_servers
        self.supervisor = Supervisor()
        self.user: connect.User | None = None
        self.begun = time.monotonic()

    def run(self) -> int:
        """Start, watch, stop; 0 after a stop that was asked for, 1 after a failure."""
        self.supervisor.catch_signals()
        try:
            if self.start():
                self.supervisor.watch()
        except StackError as error:
            self.supervisor.say(f"stopped: {error}")
            return 1
        finally:
            self.stop()
        return 0

    def start(self) -> bool:
        """Everything in order; False when a stop was asked for meanwhile."""
        steps = (self.start_stores, self.migrate, self.seed, self.start_roles)
        return all(step() for step in steps)

    def stop(self) -> None:
        """End every process, the stores last."""
        begun = time.monotonic()
        if self.supervisor.processes:
            self.supervisor.say("stopping")
        if self.has_servers:  # no stores among the processes: nothing must outlive the roles
            self.supervisor.processes.insert(0, Process("none", ()))
        self.supervisor.stop()
        if self.user is not None:
            self.user.leave()
        self.supervisor.say(f"stopped in {time.monotonic() - begun:.1f} s")

    def start_stores(self) -> bool:
        """PostgreSQL and Valkey of the home, unless real servers are given."""
        if self.has_servers:
            self.supervisor.say("using the servers of DATABASE_URL and REDIS_URL")
            return True
        connect.set_urls(self.home)
        connect.make_secrets(self.home)
        self.user = connect.User(self.home)
        self.user.announce()
        command = connect.keeper_command(self.home, "--standby")
        self.supervisor.start(Process("stores", command, grace_s=STORES_GRACE_S))
        return self.supervisor.wait_for(
            lambda: connect.is_ready(self.home), "the stores did not answer", READY_S
        )

    def migrate(self) -> bool:
        """Bring the schema up to date."""
        status = self._manage("migrate", "migrate", "--noinput", "--verbosity", "0")
        if status:
            raise StackError(f"migrate failed with exit status {status}")
        return status is not None

    def seed(self) -> bool:
        """The demo, once an install; a failure is said and does not stop the start."""
        marker = self.home.path / "postgres" / "seeded"
        command = CHECKOUT / "synth" / "management" / "commands" / "seed_demo.py"
        if self.has_servers or marker.exists() or not command.exists():
            return True
        status = self._manage("seed", "seed_demo", "--first-run")
        if status == 0:
            marker.touch()
        elif status:
            self.supervisor.say("the demo was not seeded; try again with: manage.py seed_demo")
        return status is not None

    def _manage(self, name: str, *arguments: str) -> int | None:
        command = ["python", str(CHECKOUT / "manage.py"), *arguments]
        return self.supervisor.run_once(Process(name, command, COMMON_ENV))

    def start_roles(self) -> bool:
        """Web, workers and beat together; done when /healthz answers 200."""
        for role in ROLES.values():
            if not role.is_possible:
                self.supervisor.say(f"no {role.name} role: {role.needs_module} is not installed")
                continue
            command = role.filled(bind=self.bind, port=self.port)
            env = {**COMMON_ENV, **role.env}
            self.supervisor.start(Process(role.name, command, env, role.grace_s))
        is_up = self.supervisor.wait_for(self.is_healthy, "/healthz did not answer 200", READY_S)
        if is_up:
            self.tell()
        return is_up

    @property
    def url(self) -> str:
        """Address to open in a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.bind, self.bind)  # noqa: S104 - compared only
        return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{self.port}"

    def is_healthy(self) -> bool:
        """Whether /healthz answers 200, which it does once web, worker and beat are up."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy must not see loopback
        try:
            with opener.open(f"{self.url}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def tell(self) -> None:
        """Say that it is ready, where to look and what to click."""
        say = self.supervisor.say
        say(f"READY in {time.monotonic() - self.begun:.1f} s")
        say(f"  chat    {self.url}/chat/")
        say(f"  admin   {self.url}/admin/")
        say(f"  API     {self.url}/api/docs/")
        if logins.path(self.home).exists():
            say(f"  logins  {logins.path(self.home)} ({', '.join(logins.read(self.home))})")
            say("  click   log in to the admin as trainer; Growth settings, Wren, 'Reflect now'")
        say("Ctrl-C stops everything.")
