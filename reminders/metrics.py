"""What Prometheus learns about deliveries; how long queued ones wait is among the queues of the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import connection
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from synth.probes import Probe


def _ask() -> int:
    from reminders import selectors

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '1500ms'")
    return selectors.n_failed()


failed: Probe[int] = Probe(_ask, fresh_s=5.0)


class DeliveriesCollector(Collector):
    """One gauge, left out while the database does not answer."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: without this the registry would ask the database when the process starts."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Deliveries that were given up."""
        value = failed.answer().value
        if value is not None:
            gauge = GaugeMetricFamily("synth_deliveries_failed", "Deliveries that wait for an operator.")
            gauge.add_metric([], value)
            yield gauge


def register() -> None:
    """Add the gauge to the process' metrics page."""
    REGISTRY.register(DeliveriesCollector())
