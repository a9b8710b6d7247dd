"""The staff app: who works here, what each may do, and what each did."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    name = "staff"
    verbose_name = "Staff"
