"""localnet as a Django app: it only adds the command `manage.py localnet`."""

from django.apps import AppConfig


class LocalnetConfig(AppConfig):
    name = "localnet"
