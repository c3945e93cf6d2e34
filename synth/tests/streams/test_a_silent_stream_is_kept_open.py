"""A stream to which something happens that its client is not told of still gets its comments."""

import asyncio
from typing import Any, cast

import pytest

from synth.api.handoff import Handed
from synth.api.streaming import HEARTBEAT_S, Stream


@pytest.mark.slow
def test_what_is_not_told_does_not_put_the_comment_off():
    sent: list[bytes] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["body"])

    async def follow() -> None:
        handed = Handed({"method": "GET"}, None, send, "openai-sse", {}, [], cast(Any, None))
        stream = Stream(handed)
        ticks = 4
        for _ in range(ticks + 1):
            asyncio.get_running_loop().call_later(HEARTBEAT_S / ticks, stream.wake.set)
            await stream.rest(b": still here\n\n")
        stream.end()
        await stream.rest(b": still here\n\n")

    asyncio.run(follow())
    assert sent == [b": still here\n\n"]
