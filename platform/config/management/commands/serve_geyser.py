"""manage.py serve_geyser: Yellowstone gRPC for customers."""

import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from columns.collector import keep_loaded
from embedded.notify import progress
from shared_state import heartbeats
from webserver.memory import Memory
from yellowstone.server import serve

_PROGRESS_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Serve geyser.Geyser at GRPC_PORT: the chain's accounts, transactions, blocks and slots as"
        " streams of updates, from what the follower reads and what is stored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.GRPC_PORT)

    def handle(self, *_args: Any, host: str, port: int, **_options: Any) -> None:
        if not port:
            raise CommandError("nothing to listen on: set GRPC_PORT")
        heartbeats.start("grpc", by_progress=True)
        try:
            uvloop.run(_serve(host, port))
        except OSError as error:
            text = f"{host}:{port} cannot be listened on: {error.strerror or error}"
            raise CommandError(text) from None


async def _serve(host: str, port: int) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stopping.set)
    async with serve(host, port, version=settings.LEDGER_API_VERSION):
        # A full collection would look at all that is loaded, and hold up every stream for 0.1 s.
        keep_loaded()
        memory = Memory()
        while not stopping.is_set():
            progress()
            memory.look()
            try:
                async with asyncio.timeout(_PROGRESS_SECONDS):
                    await stopping.wait()
            except TimeoutError:
                continue
