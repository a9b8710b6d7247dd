"""Slots into the areas, as a Django app."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings


def _stream_check() -> dict[str, Any]:
    from ingest.readiness import stream_state
    from shared_state import clock

    return stream_state(
        now_seconds=clock.seconds(), longest_lag_seconds=settings.READY_MAX_LAG_SECONDS
    )


def _is_stored_chain(network: str) -> bool | None:
    from ingest.chain_identity import known
    from ingest.known_chains import NAMES

    stored = known()
    return stored == NAMES[network] if stored else None


class IngestConfig(AppConfig):
    name = "ingest"

    def ready(self) -> None:
        from gateway.health import add_check
        from historical.services.remote_history import check_chain_by

        add_check("stream", _stream_check)
        check_chain_by(_is_stored_chain)
