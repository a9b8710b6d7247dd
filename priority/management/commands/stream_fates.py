"""manage.py stream_fates: the process that streams fates to callers."""

import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from access import heartbeats
from priority.streams import PATH, serve


class Command(BaseCommand):
    help = f"Serve GET {PATH}: fates as they come about, by server-sent events."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.FATES_PORT)

    def handle(self, *_args: Any, host: str, port: int, **_options: Any) -> None:
        heartbeats.start("fates")
        try:
            asyncio.run(_serve(host, port))
        except OSError as error:
            raise CommandError(f"cannot listen on {host} port {port}: {error}") from None


async def _serve(host: str, port: int) -> None:
    stopping = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopping.set)
    async with serve(host, port, redis_url=settings.REDIS_URL):
        await stopping.wait()
