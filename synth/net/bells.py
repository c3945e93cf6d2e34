"""The doorbells of this process: one Redis connection that hears any number of channels.

Bells only wake. What they say is worth nothing while Redis is away; those who listen read rows beside, and
look for themselves when the bells are back (`on_return`).
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import redis.asyncio
import structlog
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

CONFIRM_S = 2.0  # how long a listener waits to be heard
QUIET_S = 15.0  # after so long without a word the connection is tried
RETRY_S = 0.5
TIMEOUT_S = 2.0
N_CONNECTIONS = 8
_ALWAYS = "synth:bells"  # heard from the start, so that the connection is always a listening one
Ear = Callable[[str], None]
log = structlog.get_logger(__name__)


def client(**options: Any) -> redis.asyncio.Redis:
    """A Redis client of the running loop whose short calls end within about 2 s."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=TIMEOUT_S,
        **{"socket_timeout": TIMEOUT_S, **options},
    )


class Bells:
    """Made and used on one event loop. `store` is for short calls of those who listen."""

    def __init__(self) -> None:
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            settings.REDIS_URL, decode_responses=True, protocol=2, max_connections=N_CONNECTIONS,
            timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 1),
        )  # fmt: skip
        self.store: redis.asyncio.Redis = redis.asyncio.Redis(connection_pool=pool)
        self.on_return: list[Callable[[], None]] = []
        self._ears: dict[str, Ear] = {}
        self._confirmed: dict[str, asyncio.Event] = {}
        self._line: Any = None
        self._task: asyncio.Task[None] | None = None
        self._is_in_trouble = False
        self._turn = asyncio.Lock()

    async def hear(self, channel: str, ear: Ear) -> bool:
        """Call `ear` with each message of the channel; True once it is sure that none is missed from now."""
        self._ears[channel] = ear
        heard = self._confirmed.setdefault(channel, asyncio.Event())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="bells")
        await self._tell(channel)
        try:
            async with asyncio.timeout(CONFIRM_S):
                await heard.wait()
        except TimeoutError:
            return False
        return True

    async def forget(self, channel: str) -> None:
        """Hear the channel no longer."""
        self._ears.pop(channel, None)
        self._confirmed.pop(channel, None)
        await self._tell(channel)

    async def _tell(self, channel: str) -> None:
        """Have Redis ring for the channel or not, as is wanted by the time it is its turn."""
        async with self._turn:
            heard = self._confirmed.get(channel)
            if self._line is None or (heard is not None and heard.is_set()):
                return
            command = "UNSUBSCRIBE" if heard is None else "SUBSCRIBE"
            try:
                await self._line.send_command(command, channel, check_health=False)
            except (RedisError, OSError) as error:
                # The listening task sees the same trouble and begins anew, with every channel.
                log.debug("bell_not_told", channel=channel, error=str(error))

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (RedisError, OSError, TimeoutError) as error:
                if not self._is_in_trouble:
                    log.warning("bells_lost", error=f"{type(error).__name__}: {error}")
                self._is_in_trouble = True
            for heard in self._confirmed.values():
                heard.clear()
            await asyncio.sleep(RETRY_S)

    async def _listen(self) -> None:
        # The bare connection: the library's own listener costs several times as much a message.
        pool: Any = client(socket_timeout=None).connection_pool
        line = pool.make_connection()
        try:
            await line.connect()
            await line.send_command("SUBSCRIBE", _ALWAYS, check_health=False)
            # From here on a channel is told by `hear` itself; before, it is among those told below.
            self._line = line
            if self._ears:
                await line.send_command("SUBSCRIBE", *self._ears, check_health=False)
            is_tried = False
            while True:
                said = await line.read_response(timeout=QUIET_S, disconnect_on_error=False, push_request=True)
                if said is not None:
                    is_tried = False
                    self._take(*said)
                elif is_tried:
                    raise TimeoutError("Redis says nothing any more")
                else:
                    is_tried = True
                    await line.send_command("PING", check_health=False)
        finally:
            self._line = None
            await line.disconnect(nowait=True)

    def _take(self, kind: str, channel: str, said: object = None) -> None:
        if kind == "subscribe":
            if (heard := self._confirmed.get(channel)) is not None:
                heard.set()
            if channel == _ALWAYS and self._is_in_trouble:
                self._is_in_trouble = False
                log.info("bells_back")
                for call in self.on_return:
                    call()
        elif kind == "message" and (ear := self._ears.get(channel)) is not None:
            try:
                ear(str(said))
            except Exception:  # noqa: BLE001 - one listener's trouble must not deafen the others
                log.exception("bell_broke", channel=channel)


_bells: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Bells] = weakref.WeakKeyDictionary()


def bells() -> Bells:
    """The bells of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _bells:
        _bells[loop] = Bells()
    return _bells[loop]
