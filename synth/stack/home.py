"""Where an install keeps its files (`SYNTH_HOME`), and the secrets generated there.

Layout below the home: `keys/` secrets (0600), `postgres/data`, `valkey/`, `log/`, `run/` locks and sockets,
`demo-logins.txt`. The default home is `var` in the checkout.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

CHECKOUT = Path(__file__).resolve().parents[2]
SECRETS = ("SECRET_KEY", "GIFT_CODE_KEY", "FIELD_KEY")
# 32 bytes in URL-safe base64 have the shape of a Fernet key; Django asks for 50 characters of SECRET_KEY.
N_BYTES = {"SECRET_KEY": 48}
MAX_SOCKET_PATH = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, with a closing NUL.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.+-]+")
LONGEST_SOCKET_NAME = "pg/.s.PGSQL.5432"


class StackError(Exception):
    """The stack cannot start or go on; the message is one line for the person at the terminal."""


@dataclass(frozen=True)
class Home:
    """Paths of one install; nothing is created until `make()`."""

    path: Path

    @property
    def run(self) -> Path:
        """Folder of lock files (and of sockets, when its path is short and plain)."""
        return self.path / "run"

    @property
    def log(self) -> Path:
        """Folder of the stores' log files."""
        return self.path / "log"

    @property
    def sockets(self) -> Path:
        """Folder of sockets: `run/`, or a private folder in /tmp when that path is too long or not plain.

        It depends on the home alone, so every process of this install finds the same one.
        """
        text = str(self.run)
        if len(os.fsencode(f"{text}/{LONGEST_SOCKET_NAME}")) <= MAX_SOCKET_PATH and PLAIN_PATH.fullmatch(
            text
        ):
            return self.run
        digest = hashlib.sha256(os.fsencode(str(self.path))).hexdigest()[:12]
        return Path("/tmp") / f"synth-{os.geteuid()}-{digest}"  # noqa: S108 - checked by private_folder

    @property
    def pg_socket_dir(self) -> Path:
        """Folder where PostgreSQL puts its socket."""
        return self.sockets / "pg"

    @property
    def valkey_socket(self) -> Path:
        """Path of Valkey's socket."""
        return self.sockets / "valkey.sock"

    @property
    def database_url(self) -> str:
        """URL of the embedded database, socket folder percent-encoded as the host."""
        return f"postgres://synth@{quote(str(self.pg_socket_dir), safe='')}/synth"

    @property
    def redis_url(self) -> str:
        """URL of the embedded Valkey, as redis-py reads it."""
        return f"unix://{self.valkey_socket}?db=0"

    def make(self) -> Home:
        """Create the folders that locks and logs need; StackError when the home is not ours to write."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            owner = self.path.stat().st_uid
            if owner not in (os.geteuid(), 0) or not os.access(self.path, os.W_OK | os.X_OK):
                raise StackError(f"{self.path} belongs to uid {owner}; run as that user or set SYNTH_HOME")
            for folder in (self.run, self.log):
                folder.mkdir(mode=0o700, exist_ok=True)
            if self.sockets != self.run:
                private_folder(self.sockets)
        except OSError as error:
            raise StackError(f"SYNTH_HOME {self.path} cannot be used: {error}") from error
        return self


def private_folder(path: Path) -> None:
    """Create a 0700 folder of our own; StackError when somebody else already holds the name."""
    path.mkdir(mode=0o700, exist_ok=True)
    seen = path.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid() or seen.st_mode & 0o022:
        raise StackError(
            f"{path} is not a private folder of this user; remove it or set a shorter SYNTH_HOME"
        )


def resolve(env: Mapping[str, str] | None = None) -> Home:
    """The home named by `SYNTH_HOME`, relative paths counted from the checkout; default `var` there."""
    env = os.environ if env is None else env
    return Home((CHECKOUT / Path(env.get("SYNTH_HOME") or "var").expanduser()).resolve())


def is_embedded(env: Mapping[str, str] | None = None) -> bool:
    """Whether the stores are the embedded ones: marked by the stack, or no `DATABASE_URL` given."""
    env = os.environ if env is None else env
    return env.get("SYNTH_EMBEDDED") == "1" or not env.get("DATABASE_URL")


def check_urls(env: Mapping[str, str] | None = None) -> bool:
    """True when both store URLs are given, False when neither is; StackError for one alone."""
    env = os.environ if env is None else env
    given = [name for name in ("DATABASE_URL", "REDIS_URL") if env.get(name)]
    if len(given) == 1:
        raise StackError(f"only {given[0]} is set: give DATABASE_URL and REDIS_URL, or neither")
    return bool(given)


def secret(name: str, env: Mapping[str, str] | None = None) -> str:
    """The secret `name`: from the environment, else (embedded stores) from a 0600 file made on first use.

    Raises StackError with real servers and no value in the environment.
    """
    env = os.environ if env is None else env
    given = env.get(name)
    if given:
        return given
    if not is_embedded(env):
        raise StackError(f"{name} must be set in the environment when DATABASE_URL is given")
    return _from_file(resolve(env).path / "keys" / name)


def write_once(path: Path, text: str) -> bool:
    """Write a 0600 file that appears complete or not at all; False when it was already there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _from_file(path: Path) -> str:
    """Read a generated secret; two processes on a fresh home agree because only one link succeeds."""
    if not path.exists():
        n_bytes = N_BYTES.get(path.name, 32)
        write_once(path, base64.urlsafe_b64encode(secrets.token_bytes(n_bytes)).decode() + "\n")
    value = path.read_text(encoding="utf-8").strip()
    if len(value) < 32:
        raise StackError(f"{path} is damaged; restore it from a backup (a new key cannot read old values)")
    return value
