"""manage.py error_catalogue: writes docs/errors.md."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config.pages.error_catalogue import page


class Command(BaseCommand):
    help = "Write docs/errors.md, the page of every error's reason, from the code."

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.ROOT / "docs" / "errors.md"
        path.write_text(page(), encoding="utf-8")
        self.stdout.write(f"wrote {path}")
