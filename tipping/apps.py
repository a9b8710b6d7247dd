"""Tip addresses as a Django app."""

from django.apps import AppConfig


class TippingConfig(AppConfig):
    name = "tipping"
    verbose_name = "Tipping"
