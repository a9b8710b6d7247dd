"""Landing as a Django app."""

from django.apps import AppConfig


class PriorityConfig(AppConfig):
    name = "priority"
    verbose_name = "Landing"
