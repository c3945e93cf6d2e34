"""A large transaction is run again when PostgreSQL ended a deadlock with other work by giving it up.

It takes locks in an order of its own, so beside busy writers a deadlock is to be expected now and then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import structlog
from django.db import OperationalError, connection
from psycopg import errors

N_TRIES = 8
P = ParamSpec("P")
R = TypeVar("R")
log = structlog.get_logger(__name__)


def repeated(work: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function that is one whole transaction; inside another one it gets a single try."""

    @functools.wraps(work)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        for n_left in range(N_TRIES - 1, -1, -1):
            try:
                return work(*args, **kwargs)
            except OperationalError as error:
                is_deadlock = isinstance(error.__cause__, errors.DeadlockDetected)
                if not is_deadlock or not n_left or connection.in_atomic_block:
                    raise
                log.warning("deadlock_tried_again", work=work.__name__, n_left=n_left)
        raise AssertionError("the last try returns or raises")

    return wrapper
