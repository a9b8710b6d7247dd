"""The archive as a Django app."""

from django.apps import AppConfig


class RewindConfig(AppConfig):
    name = "rewind"
    verbose_name = "Archive"
