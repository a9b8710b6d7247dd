"""The alerts app: events, delivered by webhook and mail."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "alerts"
    verbose_name = "Alerts"

    def ready(self) -> None:
        from alerts.services import key_events

        key_events.connect()
