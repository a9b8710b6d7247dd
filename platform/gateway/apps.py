"""The gateway app: it has system checks and no tables."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        # They register themselves, before any endpoint asks what is served everywhere.
        from gateway import checks, whoami  # noqa: F401
