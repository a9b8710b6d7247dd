"""manage.py metrics_token: the bearer token that Prometheus sends."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Show the bearer token of GET /metrics: METRICS_TOKEN, or the one made from SECRET_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(settings.METRICS_TOKEN)
