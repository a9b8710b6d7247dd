"""The operations app: state of the service, now and over time."""

from typing import Any

from django.apps import AppConfig


def _disk_check(_is_database_there: bool) -> dict[str, Any]:
    from operations.readiness import disk_state

    return disk_state()


def _processes_check(is_database_there: bool) -> dict[str, Any]:
    from operations.readiness import processes_state
    from shared_state import clock

    return processes_state(now=clock.now(), is_database_there=is_database_there)


class OperationsConfig(AppConfig):
    name = "operations"
    verbose_name = "Operations"

    def ready(self) -> None:
        from gateway.health import add_notice

        add_notice("processes", _processes_check)
        add_notice("disk", _disk_check)
