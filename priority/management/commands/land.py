"""manage.py land: sends accepted submissions to leaders, nodes and block engines."""

import asyncio
import gc
import logging
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from solders.keypair import Keypair

from chain.derived_keys import derived_keypair
from columns.collector import keep_loaded
from embedded.notify import progress
from priority.lander.services.lander import Lander, LanderConfig
from priority.lander.services.upstreams import Defaults
from priority.queue.services.stalled_queue import limits
from priority.upstreams.services.editing import Kind, derived_url
from shared_state import heartbeats

log = logging.getLogger(__name__)

_PROGRESS_SECONDS = 0.5
_COLLECTED_AFTER = 50_000
# Rows are made in a thread: without this the loop waits 5 ms for it at each of its system calls.
_SWITCH_SECONDS = 0.0005


class Command(BaseCommand):
    help = (
        "Bring out what was accepted: to leaders, nodes and block engines, again and again until it"
        " is seen or can never land. Several of these share the work."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--name",
            default=settings.EDGE_NAME,
            help="of this lander; where another one has it, a number is put behind",
        )

    def handle(self, *_args: Any, name: str, **_options: Any) -> None:
        seed = settings.TIP_SECRET_SEED
        config = LanderConfig(
            name=name,
            redis_url=settings.REDIS_URL,
            identity=_identity(seed),
            payer=derived_keypair(seed, "bundle tips"),
            defaults=Defaults(
                derived_url(Kind.NODE), derived_url(Kind.BLOCK_ENGINE), _engine_keypair()
            ),
            nonce_patience_seconds=settings.NONCE_PATIENCE_SECONDS,
            with_faucet=settings.LOCALNET,
            limits=limits(),
        )
        heartbeats.start("lander", by_progress=True)
        # What is there now stays, and little of what comes refers to itself: at a thousand a second
        # the collector would go through all pending submissions some ten times a second.
        keep_loaded()
        gc.set_threshold(_COLLECTED_AFTER)
        sys.setswitchinterval(_SWITCH_SECONDS)
        uvloop.run(_land(config))


async def _land(config: LanderConfig) -> None:
    lander = Lander(config)
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, lander.stop)
    turning = asyncio.create_task(_report_progress())
    await lander.run()
    turning.cancel()
    log.info("stopped")


async def _report_progress() -> None:
    while True:
        progress()
        await asyncio.sleep(_PROGRESS_SECONDS)


def _identity(seed: bytes) -> Keypair:
    """What leaders see of us; it never appears in a transaction."""
    if not settings.TPU_IDENTITY_FILE:
        return derived_keypair(seed, "tpu identity")
    return _keypair_of("TPU_IDENTITY_FILE")


def _engine_keypair() -> Keypair | None:
    """The key that block engines know us by; it never appears in a transaction."""
    return _keypair_of("BLOCK_ENGINE_KEYPAIR_FILE") if settings.BLOCK_ENGINE_KEYPAIR_FILE else None


def _keypair_of(setting: str) -> Keypair:
    file = getattr(settings, setting)
    try:
        return Keypair.from_json(Path(file).read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{setting}={file}: {error}") from None
