"""The operations app: how the service is, over time and now."""

from typing import Any

from django.apps import AppConfig
from django.utils import timezone


def _processes_check() -> dict[str, Any]:
    from operations.readiness import processes_state

    return processes_state(now=timezone.now())


class OperationsConfig(AppConfig):
    name = "operations"
    verbose_name = "Operations"

    def ready(self) -> None:
        from gateway.health import add_check

        add_check("processes", _processes_check)
