"""The ledger as a Django app."""

from django.apps import AppConfig


class HistoricalConfig(AppConfig):
    name = "historical"
    verbose_name = "Ledger"
