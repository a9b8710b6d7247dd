"""manage.py serve: the web server, on every path of the service."""

import os
import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from embedded import notify
from embedded.processes import dies_with_parent
from shared_state import heartbeats
from webserver.master import Master, listen


class Command(BaseCommand):
    """Loads the application once, then forks the processes that serve it."""

    help = "Serve HTTP: calls, plain GETs, streams of events, the admin, the portal and the docs."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8_000)
        parser.add_argument("--workers", type=int, default=settings.WEB_WORKERS)

    def handle(self, *_args: Any, host: str, port: int, workers: int, **_options: Any) -> None:
        # Imported here: it loads every area's urls, which other commands do without.
        from config.web import serving

        sockets = []
        for number in (port, port + 1) if settings.WEBSOCKET_NEXT_PORT and port else (port,):
            try:
                sockets += listen(host, number)
            except OSError as error:
                text = f"{host}:{number} cannot be listened on: {error.strerror}"
                raise CommandError(text) from None
        connections.close_all()  # a worker must not speak on its parent's
        die_with_master = dies_with_parent(signal.SIGTERM)

        def in_worker() -> None:
            if die_with_master is not None:
                die_with_master()
            os.environ.pop(notify.SOCKET, None)  # the supervisor hears the master alone

        master = Master(
            sockets,
            serving(workers),
            workers=workers,
            on_progress=notify.progress,
            in_worker=in_worker,
        )
        status = master.run()
        heartbeats.end("web")
        sys.exit(status)
