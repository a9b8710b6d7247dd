"""The gateway app: it has no tables."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        # It registers itself, before any endpoint asks what is served everywhere.
        from gateway import whoami  # noqa: F401
