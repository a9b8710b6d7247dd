"""The staff app: staff users, their roles, and the audit log."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    name = "staff"
    verbose_name = "Staff"

    def ready(self) -> None:
        from staff import sign_ins  # noqa: F401  (connects its signals)
