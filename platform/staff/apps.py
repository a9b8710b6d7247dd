"""The staff app: who works here, what each may do, and what each did."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    name = "staff"
    verbose_name = "Staff"

    def ready(self) -> None:
        from staff import sign_ins  # noqa: F401  (hears who comes and goes)
