"""Landing as a Django app."""

from typing import Any

from django.apps import AppConfig


def _landing_check() -> dict[str, Any]:
    from priority.queue.services.stalled_queue import landing_check

    return landing_check()


class PriorityConfig(AppConfig):
    name = "priority"
    verbose_name = "Landing"

    def ready(self) -> None:
        from gateway.health import add_check

        add_check("landing", _landing_check)
