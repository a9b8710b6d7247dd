"""The access app: customers, tiers, keys and their usage."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        from access import announcements

        announcements.connect()
