"""localnet as a Django app: it brings the command `manage.py localnet` alone."""

from django.apps import AppConfig


class LocalnetConfig(AppConfig):
    name = "localnet"
