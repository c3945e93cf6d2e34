"""A beat that ticks only while it is the leader, so that a second one may stand by.

The leader holds a PostgreSQL session advisory lock on a connection of its own; when that connection goes,
so does the lock, and a standby takes over within 5 s. Beat is a metronome: its ticks look for due rows, and
no due time stands in its schedule. At a failover the last tick before it may be sent again; ticks are safe
to repeat.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import psycopg
import redis
import structlog
from django.db import Error as DatabaseTrouble
from django.db import connection
from django.utils import timezone
from django_celery_beat.schedulers import DatabaseScheduler

from synth import liveness

LOCK = 0x53594E5448  # "SYNTH"
STANDBY_S = 2.0
LONGEST_S = 5.0
# last_run_at ahead of the clock by more than this means that the clock was set back.
AHEAD = timedelta(seconds=5)
log = structlog.get_logger(__name__)


class Leadership:
    """One process' hold on the beat lock. `holds()` takes it, or checks that it is still there."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self.is_leader = False

    def holds(self) -> bool:
        """Whether this process leads now; asks the server each time, at most about 5 s."""
        was_leader, self.is_leader = self.is_leader, False
        try:
            if self._connection is None or self._connection.closed:
                was_leader = False
                self._connection = self._connect()
            if was_leader:
                self._connection.execute("SELECT 1")
                self.is_leader = True
            else:
                row = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()
                self.is_leader = bool(row and row[0])
        except psycopg.Error as error:
            log.warning("beat_lock_lost" if was_leader else "beat_lock_unreachable", error=str(error))
            self.give_up()
        return self.is_leader

    def give_up(self) -> None:
        """Close the connection, which frees the lock."""
        self.is_leader = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> psycopg.Connection[Any]:
        """A connection as Django makes it (sockets, passwords, options) that notices a dead peer in 5 s."""
        params: dict[str, Any] = connection.get_connection_params()
        params |= {
            "application_name": "synth-beat-leader",
            "connect_timeout": 3,
            "keepalives_idle": 2,
            "keepalives_interval": 1,
            "keepalives_count": 2,
            "tcp_user_timeout": 4000,
            "autocommit": True,
        }
        made: psycopg.Connection[Any] = psycopg.connect(**params)
        # The server must notice a leader whose machine is gone just as fast, or its lock would stay. These
        # have no effect on Unix sockets, where the kernel tells.
        for name, value in (("idle", 2), ("interval", 1), ("count", 2)):
            made.execute(f"SET tcp_keepalives_{name} = {value}")
        made.execute("SET statement_timeout = '4s'")
        return made


class LeaderScheduler(DatabaseScheduler):  # type: ignore[misc]
    """The database scheduler, silent while another beat leads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.leadership = Leadership()
        self._signed_at = 0.0
        super().__init__(*args, **kwargs)

    def install_default_entries(self, data: Any) -> None:
        """Nothing of Celery's own: it would be a crontab, and there are no results to clean up."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due if this is the leader; seconds until the next call, at most 5."""
        was_leader = self.leadership.is_leader
        leads = self.leadership.holds()
        self._sign(leads)
        if not leads:
            # What a former leader meant to write would overwrite what its successor wrote.
            self._dirty.clear()
            return STANDBY_S
        try:
            if not was_leader:
                self._take_over()
            self._follow_the_clock()
            return min(float(super().tick(*args, **kwargs)), LONGEST_S)
        except (DatabaseTrouble, psycopg.Error) as error:
            log.warning("beat_database_trouble", error=str(error))
            connection.close()
            return STANDBY_S

    def close(self) -> None:
        """Write the last runs, then free the lock for a standby."""
        super().close()
        self.leadership.give_up()
        liveness.leave("beat")

    def reserve(self, entry: Any) -> Any:
        """The entry's next turn, also for the schedule: it may have been read anew since this entry was taken
        from it, and would then still hold, save and obey the last run before this one.
        """
        following = super().reserve(entry)
        if following.name in self._schedule:
            self._schedule[following.name] = following
        return following

    def _take_over(self) -> None:
        """Read the schedule anew: the former leader's last runs are in it."""
        log.warning("beat_became_leader")
        self._dirty.clear()
        self._initial_read = True
        self._heap = None

    def _follow_the_clock(self) -> None:
        """After the clock was set back, last runs lie ahead and ticks would wait for them: make them due."""
        now = timezone.now()
        for entry in self.schedule.values():
            if entry.last_run_at > now + AHEAD:
                log.warning("beat_clock_set_back", tick=entry.name, last_run_at=str(entry.last_run_at))
                entry.last_run_at = entry.model.last_run_at = now - timedelta(days=1)
                self._heap = None

    def _sign(self, leads: bool) -> None:
        """Show health that this beat lives; without Redis nothing is sent either, and the sign runs out."""
        if time.monotonic() - self._signed_at < liveness.EVERY_S - LONGEST_S / 2:
            return
        try:
            liveness.sign("beat", "leader" if leads else "standby")
            self._signed_at = time.monotonic()
        except redis.RedisError as error:
            log.warning("alive_not_signed", role="beat", error=str(error))
