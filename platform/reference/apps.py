"""The reference app: pages and documents made from the code."""

from django.apps import AppConfig


class ReferenceConfig(AppConfig):
    name = "reference"
    verbose_name = "Reference"

    def ready(self) -> None:
        from reference import methods  # noqa: F401  (registers common methods before urls are read)
