"""manage.py runserver: Django's development server beside `make run`, whose database it uses."""

from typing import Any

from django.contrib.staticfiles.management.commands import runserver
from django.core.management.base import CommandError
from django.db import OperationalError, connection


class Command(runserver.Command):
    help = (
        "Start Django's development server beside a running `make run`; it reloads changed code."
        " Pages and calls, without WebSockets, gRPC and the limits of our own server (serve)."
    )
    default_port = "8001"  # 8000 is that of `make run`

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError(
                "The database does not answer. Start `make run` in another terminal first: it runs"
                f" PostgreSQL and Valkey, which this server uses. {error}".strip()
            ) from None
        connection.close()
        super().handle(*args, **options)
