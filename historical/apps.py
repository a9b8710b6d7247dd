"""The ledger as a Django app."""

import time
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


def _ledger_check() -> dict[str, Any]:
    from historical.coverage.services.readiness import ledger_state

    return ledger_state(now_seconds=time.time(), longest_lag_seconds=settings.READY_MAX_LAG_SECONDS)


def _forget(**_signal: Any) -> None:
    from columns.generations import move_all

    move_all()


class HistoricalConfig(AppConfig):
    name = "historical"
    verbose_name = "Ledger"

    def ready(self) -> None:
        from gateway.health import add_check

        add_check("ledger", _ledger_check)
        # After a migration, or tables emptied by `flush`, nothing that was read before counts.
        post_migrate.connect(_forget, sender=self)
