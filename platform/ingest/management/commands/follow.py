"""manage.py follow: follow the chain into ledger and archive."""

import contextlib
import logging
import signal
import threading
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from embedded.notify import allowed, progress
from ingest.errors import ChainBroken, OtherLocalnet, WrongChain
from ingest.event_publisher import EventPublisher
from ingest.follower import Follower
from ingest.follower_state import FollowerState, publish
from ingest.node_follower import NodeFollower
from ingest.slot_sender import SlotSender
from ingest.sources import SecondFollower, SourceLock, stream_name, streams, upstream_node
from livefeed.feed import LiveFeed
from shared_state import heartbeats
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_LOCK_SECONDS = 2.0
# More than the deadlines of connecting and of one statement together.
_DATABASE_SECONDS = 40.0
# Memory for slots that are not final yet; beyond it the oldest are given up, with a cause.
_ASSEMBLER_BYTES = 1 << 30


class Command(BaseCommand):
    help = (
        "Follow the chain: the Geyser streams at UPSTREAM_GEYSER_URL into ledger and archive, or,"
        " without one, the blocks of the node at UPSTREAM_RPC_URL into the ledger. Only one process"
        " follows; a second one waits until the first has ended."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.UPSTREAM_GEYSER_URL and not settings.UPSTREAM_RPC_URL:
            raise CommandError("nothing to follow: set UPSTREAM_GEYSER_URL or UPSTREAM_RPC_URL")
        heartbeats.start("follower", by_progress=True)
        stopping = threading.Event()
        lock = SourceLock(str(settings.UPSTREAM_GEYSER_URL or settings.UPSTREAM_RPC_URL))
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: stopping.set())
        try:
            if not _take(lock, stopping):
                return
            if settings.UPSTREAM_GEYSER_URL:
                _follow_stream(lock, stopping)
            else:
                _follow_node(lock, stopping)
        except (WrongChain, ChainBroken) as error:
            _report(error)
            raise SystemExit(1) from None
        except SecondFollower as error:
            raise CommandError(str(error)) from None
        finally:
            lock.let_go()


def _report(error: Exception) -> None:
    """Logs the error and publishes it for /readyz."""
    text = str(error)
    if settings.LOCALNET and not isinstance(error, OtherLocalnet):
        text += (
            " After a reset of localnet: stop the service, remove the run directory"
            f" {settings.RUN_DIR} or name another one (TIDEMARK_RUN_DIR), start again."
        )
    log.error("%s", text)
    source = stream_name() if settings.UPSTREAM_GEYSER_URL else "node"
    with contextlib.suppress(*AWAY):
        publish(FollowerState(source=source, problem=text, ended_at=time.time()))


def _take(lock: SourceLock, stopping: threading.Event) -> bool:
    """Waits until the lock is ours; False if stopped before."""
    said = ""
    while not stopping.is_set():
        try:
            with allowed(_DATABASE_SECONDS):
                if lock.take():
                    return True
            text = "another process follows already: waiting until it ends"
        except AWAY as error:
            text = f"waiting for the database: {str(error).strip()}"
        if text != said:
            log.info("%s", text)
            said = text
        progress()
        stopping.wait(_LOCK_SECONDS)
    return False


def _follow_stream(lock: SourceLock, stopping: threading.Event) -> None:
    sender = SlotSender(
        lock,
        source=stream_name(),
        limit_bytes=settings.FOLLOW_BACKLOG_BYTES,
        now=timezone.now,
    )
    publisher, live = EventPublisher(), LiveFeed(has_entries=settings.FOLLOW_ENTRIES)
    follower = Follower(
        streams(), upstream_node(), sender, publisher, live, assembler_bytes=_ASSEMBLER_BYTES
    )
    sender.start()
    publisher.start()
    live.start()
    try:
        _until_stopped(follower, stopping)
    finally:
        sender.stop()
        publisher.stop()
        live.stop()


def _follow_node(lock: SourceLock, stopping: threading.Event) -> None:
    node = upstream_node()
    assert node is not None
    _until_stopped(NodeFollower(node, lock, now=timezone.now), stopping)


def _until_stopped(follower: Follower | NodeFollower, stopping: threading.Event) -> None:
    """Runs it in this thread. Another thread waits for the signal: a handler could run while this
    one holds a lock.
    """

    def stop() -> None:
        while not stopping.wait(3600.0):
            pass
        follower.stop()

    threading.Thread(target=stop, name="stop", daemon=True).start()
    began = time.monotonic()
    follower.run()
    log.info("stopped after %.0f s", time.monotonic() - began)
