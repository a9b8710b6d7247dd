"""Slots into the areas, as a Django app: it has commands and tasks, no tables."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "ingest"
