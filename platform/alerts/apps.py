"""The alerts app: events, and telling people of them by webhook and mail."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "alerts"
    verbose_name = "Alerts"

    def ready(self) -> None:
        from alerts.services import key_life

        key_life.connect()
