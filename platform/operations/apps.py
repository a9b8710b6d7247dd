"""The operations app: how the service is, over time and now."""

from typing import Any

from django.apps import AppConfig
from django.utils import timezone


def _disk_check() -> dict[str, Any]:
    from operations.readiness import disk_state

    return disk_state()


def _processes_check() -> dict[str, Any]:
    from operations.readiness import processes_state

    return processes_state(now=timezone.now())


class OperationsConfig(AppConfig):
    name = "operations"
    verbose_name = "Operations"

    def ready(self) -> None:
        from gateway.health import add_check

        add_check("processes", _processes_check, is_needed=False)
        add_check("disk", _disk_check, is_needed=False)
