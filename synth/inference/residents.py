"""The models in the worker's memory: loaded when first needed, gone when idle or when another needs the room.

A load that doesn't fit after the least recently used ones are gone is refused with the numbers, before
anything of it is read; those that had to go come back at their next ask.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import structlog

from synth.inference import probe, tiers
from synth.inference.runners import Runner
from synth.inference.wire import Problem

NO_MEMORY = "no_memory"
log = structlog.get_logger(__name__)


def needs(runner: Runner) -> int:
    """MiB that a runner takes when loaded; 0 where it doesn't say."""
    return int(getattr(runner, "needs_mib", 0))


class Residents:
    """Runners by kind. `free_mib` and `tier` ask the machine; None: nobody knows how much is free.

    Kinds with one maker share its runner, so that a model that does two things is loaded once.
    """

    def __init__(
        self,
        makers: Mapping[str, Callable[[], Runner]],
        *,
        free_mib: Callable[[], int | None] = probe.free_mib,
        tier: Callable[[], tiers.Tier] = probe.tier,
    ) -> None:
        self._makers = dict(makers)
        first: dict[Callable[[], Runner], str] = {}
        self._owner = {kind: first.setdefault(make, kind) for kind, make in makers.items()}
        self._free_mib = free_mib
        self._tier = tier
        self._runners: dict[str, Runner] = {}
        self._loaded: dict[str, tiers.Loaded] = {}
        self._held: Counter[str] = Counter()

    def get(self, kind: str, priority: str) -> Runner | Problem:
        """The runner of a kind, loaded; or why there is none."""
        kind = self._owner.get(kind, kind)
        if kind in self._runners:
            self.used(kind, priority)
            return self._runners[kind]
        make = self._makers.get(kind)
        if make is None:
            return Problem("no_such_kind", f"This worker has no {kind} model.")
        started = time.monotonic()
        try:
            runner = make()
            self._make_room(kind, needs(runner), priority)
            runner.load()
        except tiers.DoesNotFit as error:
            log.warning("model_does_not_fit", kind=kind, error=str(error))
            return Problem(NO_MEMORY, f"{error}.")
        except Exception as error:  # noqa: BLE001 - a model that doesn't load must not stop the others
            log.exception("model_not_loaded", kind=kind)
            return Problem("not_installed", str(error)[:200])
        self._runners[kind] = runner
        self.used(kind, priority)
        log.info("model_loaded", kind=kind, seconds=round(time.monotonic() - started, 2))
        return runner

    def used(self, kind: str, priority: str) -> None:
        """Note that a model was used just now."""
        kind = self._owner.get(kind, kind)
        self._loaded[kind] = tiers.Loaded(needs(self._runners[kind]), time.monotonic(), priority)

    @contextmanager
    def held(self, kind: str) -> Iterator[None]:
        """While the block runs the model of this kind makes no room for others: it is at work.

        Blocks may lie within one another, as a chat lies within background writing by the same model.
        """
        kind = self._owner.get(kind, kind)
        self._held[kind] += 1
        try:
            yield
        finally:
            self._held[kind] -= 1

    def unload_idle(self) -> None:
        """Let go of what nobody asked for in its keep-alive."""
        now = time.monotonic()
        for kind, runner in list(self._runners.items()):
            if runner.keep_alive_s > 0 and now - self._loaded[kind].used_at > runner.keep_alive_s:
                self._unload(kind, "idle")

    def _make_room(self, kind: str, needs_mib: int, priority: str) -> None:
        """Unload what must go. DoesNotFit before anything goes where that would not be enough."""
        if needs_mib <= 0:
            return
        free = self._free_mib()
        if free is None:
            return
        resident = self._tier().resident
        may_go = {name: one for name, one in self._loaded.items() if not self._held[name]}
        places = resident - (len(self._loaded) - len(may_go))
        going = tiers.to_unload(may_go, needs_mib, free, resident=places, priority=priority)
        tiers.check_fit(kind, needs_mib, free + sum(self._loaded[name].mib for name in going))
        tiers.check_place(kind, len(self._loaded) - len(going), resident)
        for name in going:
            self._unload(name, f"{kind} needs the room")
        if going and (free := self._free_mib()) is not None:
            tiers.check_fit(kind, needs_mib, free)  # what went may have been smaller than it said

    def _unload(self, kind: str, reason: str) -> None:
        self._runners.pop(kind).unload()
        del self._loaded[kind]
        log.info("model_unloaded", kind=kind, reason=reason)
