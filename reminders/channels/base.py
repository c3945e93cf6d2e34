"""What a channel is: a way to confirm that a delivery arrived, or to say why it did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reminders.paths import Path

if TYPE_CHECKING:
    from reminders.models import Delivery
    from synth.models import Person


class Undelivered(Exception):
    """A try that failed. `detail` is shown to operators and logged, so it holds no address and no secret.

    `max_tries` ends the trying sooner than usual; `retry_after_s` asks for a later next try;
    `is_hosts_fault` counts against the host, so that others stop waiting for it.
    """

    def __init__(
        self,
        detail: str,
        *,
        max_tries: int | None = None,
        retry_after_s: float = 0,
        is_hosts_fault: bool = False,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.max_tries = max_tries
        self.retry_after_s = retry_after_s
        self.is_hosts_fault = is_hosts_fault


@dataclass(frozen=True)
class Parcel:
    """What a remote channel carries away from the row; `id` is the same at every try."""

    id: int
    kind: str
    title: str
    body: str
    at: datetime
    path: Path
    metadata: dict[str, Any] = field(default_factory=dict)


# The person an address belongs to, or None where it is nobody's here. Invalid when it cannot be reached.
Check = Callable[[Path], "Person | None"]


@dataclass(frozen=True)
class Local:
    """Delivers by writing rows: `place` runs in the transaction that marks the delivery sent, last in it.

    It may raise Undelivered, which undoes both. So it happens exactly once.
    """

    name: str
    check: Check
    place: Callable[[Delivery, Path], None]


@dataclass(frozen=True)
class Remote:
    """Delivers over the network: `carry(parcel, seconds)` returns what confirmed it, or raises Undelivered.

    It never runs in a transaction or with a database connection open. A death after it and before the mark
    means that it runs again with the same id: at least once. `host` names the peer for the circuit breaker.
    """

    name: str
    check: Check
    carry: Callable[[Parcel, float], str]
    host: Callable[[Path], str]
    timeout_s: float = 10.0
    max_at_once: int = 3


Channel = Local | Remote
