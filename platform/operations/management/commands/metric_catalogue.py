"""manage.py metric_catalogue: writes docs/metrics.md."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from operations.metrics import page


class Command(BaseCommand):
    help = "Write docs/metrics.md, the catalogue of GET /metrics, from the code."

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.ROOT / "docs" / "metrics.md"
        path.write_text(page(), encoding="utf-8")
        self.stdout.write(f"wrote {path}")
