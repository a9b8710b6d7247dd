"""The gateway app: it has system checks and no tables."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway import checks  # noqa: F401  (registers them)
