"""Demo logins: random passwords, written once to a 0600 file in the home, never to the database in clear."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from synth.stack.home import Home, resolve, write_once

HEADER = "# Demo logins of this install: user, password. Delete this file once you have changed them.\n"


def path(home: Home | None = None) -> Path:
    """Where the file lies."""
    return (home or resolve()).path / "demo-logins.txt"


def read(home: Home | None = None) -> dict[str, str]:
    """Passwords by user name; empty when there is no file."""
    try:
        lines = path(home).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def passwords(usernames: Iterable[str], home: Home | None = None) -> dict[str, str]:
    """A password for each user: the written one, else a new random one that is written down now."""
    home = home or resolve()
    known = read(home)
    wanted = {name: known.get(name) or secrets.token_urlsafe(12) for name in usernames}
    if wanted.items() <= known.items():
        return wanted
    body = HEADER + "".join(f"{name:<12} {word}\n" for name, word in {**known, **wanted}.items())
    target = path(home)
    if not write_once(target, body):
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        write_once(fresh, body)
        fresh.replace(target)
    return wanted
