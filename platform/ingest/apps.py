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


def _following(_is_database_there: bool) -> dict[str, Any]:
    from ingest.readiness import following_state
    from shared_state import clock

    is_followed = bool(settings.UPSTREAM_GEYSER_URL or settings.UPSTREAM_RPC_URL)
    return following_state(now_seconds=clock.seconds(), is_followed=is_followed)


def _is_stored_chain(network: str) -> bool | None:
    from ingest.chain_identity import known
    from ingest.known_chains import NAMES

    stored = known()
    return stored == NAMES[network] if stored else None


class IngestConfig(AppConfig):
    name = "ingest"

    def ready(self) -> None:
        from gateway.health import add_check, add_notice
        from historical.remote.services.remote_history import check_chain_by

        add_check("stream", _stream_check)
        add_notice("following", _following)
        check_chain_by(_is_stored_chain)
