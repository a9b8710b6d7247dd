"""manage.py collectstatic: there is nothing to collect."""

from typing import Any

from django.contrib.staticfiles.management.commands import collectstatic
from django.core.management.base import CommandError


class Command(collectstatic.Command):
    help = "Not needed: web processes serve static files from the packages that have them."

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError(
            "There is nothing to collect: web processes serve static files from the packages that"
            " have them, with cache headers. Leave this step out of the deployment."
        )
