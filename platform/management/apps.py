"""The management app: an API for what the admin and the portal do."""

from django.apps import AppConfig


class ManagementConfig(AppConfig):
    name = "management"
    verbose_name = "Management API"
