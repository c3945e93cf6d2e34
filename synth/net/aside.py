"""Short work with the database for code on the event loop: in a few threads that keep no connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from synth.net import database

N_THREADS = 4
T = TypeVar("T")
_pool = ThreadPoolExecutor(N_THREADS, thread_name_prefix="aside")


async def aside(work: Callable[..., T], *args: object) -> T:
    """Run `work(*args)` in a thread and give its database connection back; what it raises comes through."""
    return await asyncio.get_running_loop().run_in_executor(_pool, _run, work, *args)


def _run(work: Callable[..., T], *args: object) -> T:
    try:
        return work(*args)
    finally:
        database.leave()
