"""The config app: the wiring's management commands, and who of the staff may do what."""

from django.apps import AppConfig, apps


class WiringConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        # Not sooner: they need the models of Django's apps.
        from config import task_connections  # noqa: F401  (receives Celery's signals)
        from config.staff_roles import keep_roles

        keep_roles()
        # What its page is about; Django's “Authentication and Authorization” fits in no heading.
        apps.get_app_config("auth").verbose_name = "Staff"
