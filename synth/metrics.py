"""What Prometheus learns from the rows: waiting work, tick ages, living processes, language model calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from synth import probes


class RowsCollector(Collector):
    """Asks the probes at each scrape, so it is never slower than they are; what is unknown is left out."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: without this the registry would ask the database when the process starts."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The gauges."""
        alive, backlog = probes.redis.answer().value, probes.backlog.answer().value
        up = GaugeMetricFamily("synth_store_up", "1 when the store answers.", labels=["store"])
        up.add_metric(["postgresql"], float(not probes.database.answer().error))
        up.add_metric(["redis"], float(alive is not None))
        yield up
        if alive is not None:
            processes = GaugeMetricFamily("synth_processes", "Living processes by role.", labels=["role"])
            for role, names in alive.items():
                processes.add_metric([role], len(names))
            yield processes
        if backlog is not None:
            yield from _backlog(backlog)


def _backlog(backlog: probes.Backlog) -> Iterator[Metric]:
    rows = GaugeMetricFamily("synth_queue_rows", "Rows of a queue.", labels=["queue", "kind"])
    oldest = GaugeMetricFamily("synth_queue_oldest_seconds", "Wait of the oldest due row.", labels=["queue"])
    for depth in backlog.depths:
        rows.add_metric([depth.name, "waiting"], depth.n_waiting)
        rows.add_metric([depth.name, "due"], depth.n_due)
        rows.add_metric([depth.name, "leased"], depth.n_leased)
        oldest.add_metric([depth.name], depth.oldest_s)
    ticks = GaugeMetricFamily("synth_tick_age_seconds", "Since the tick last began.", labels=["tick"])
    for tick in backlog.ticks:
        if tick.started_age_s is not None:
            ticks.add_metric([tick.name], tick.started_age_s)
    calls = GaugeMetricFamily(
        "synth_llm_calls_last_hour", "Language model calls of the last hour.", labels=["purpose", "outcome"]
    )
    for purpose, outcome, n_calls in backlog.llm_calls:
        calls.add_metric([purpose, outcome], n_calls)
    parked = GaugeMetricFamily("synth_events_parked", "Events that wait for an operator.")
    parked.add_metric([], backlog.n_parked)
    yield from (rows, oldest, ticks, calls, parked)


def register() -> None:
    """Add the gauges to the process' metrics page."""
    REGISTRY.register(RowsCollector())
