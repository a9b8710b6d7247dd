"""Readings → the families of METRICS, as prometheus-client writes them."""

import platform as machine
from collections import Counter
from collections.abc import Iterable, Iterator

import django
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from operations.metrics import ALARMS_OPEN, BUILD_INFO, METRICS, Kind, Labelled
from operations.models import Alarm
from operations.readings.present import Readings

CONTENT_TYPE = CONTENT_TYPE_LATEST
_Family = CounterMetricFamily | GaugeMetricFamily


def exposed(readings: Readings, open_alarms: Iterable[Alarm], *, version: str) -> bytes:
    """The answer's body. What is not known is left out, as Prometheus wants it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Read(readings, open_alarms, version))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, readings: Readings, open_alarms: Iterable[Alarm], version: str) -> None:
        opened = Counter((alarm.name, str(alarm.severity)) for alarm in open_alarms)
        self._readings = readings
        self._beside: dict[str, Labelled] = {
            BUILD_INFO: [((version, machine.python_version(), django.get_version()), 1)],
            ALARMS_OPEN: list(opened.items()),
        }

    def collect(self) -> Iterator[_Family]:
        for metric in METRICS.values():
            of_kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
            family = of_kind(metric.name, metric.meaning, labels=metric.labels)
            found = self._beside.get(metric.name) or metric.read(self._readings)
            rows = [((), found)] if found is None or isinstance(found, int | float) else found
            for labels, value in rows:
                if value is not None:
                    family.add_metric(labels, value)
            yield family
