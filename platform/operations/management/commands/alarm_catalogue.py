"""manage.py alarm_catalogue: writes docs/alarms.md."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from operations.rules_page import docs_page


class Command(BaseCommand):
    help = "Write docs/alarms.md, the page of every rule of alarms, from the rules."

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.ROOT / "docs" / "alarms.md"
        path.write_text(docs_page(), encoding="utf-8")
        self.stdout.write(f"wrote {path}")
