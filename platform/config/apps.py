"""The config app: the wiring's management commands."""

from django.apps import AppConfig


class WiringConfig(AppConfig):
    name = "config"
