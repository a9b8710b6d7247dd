"""manage.py follow: the chain, as it happens, into ledger and archive."""

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
from ingest.errors import ChainBroken, WrongChain
from ingest.follower import Follower
from ingest.follower_state import FollowerState, publish
from ingest.node_follower import NodeFollower
from ingest.outbox import Outbox
from ingest.source_lock import SecondFollower, SourceLock
from ingest.sources import stream_name, streams, upstream_node
from ingest.teller import Teller
from shared_state import heartbeats
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_LOCK_SECONDS = 2.0
# Connecting and a statement have deadlines of their own, which add up to less.
_DATABASE_SECONDS = 40.0
# Slots that are not final yet stay in memory; beyond this the oldest are given up, with a cause.
_ASSEMBLER_BYTES = 1 << 30


class Command(BaseCommand):
    help = (
        "Follow the chain: the Geyser streams at UPSTREAM_GEYSER_URL into ledger and archive, or,"
        " without one, the blocks of the node at UPSTREAM_RPC_URL into the ledger. One process;"
        " a second one waits for the end of the first."
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
            _say_why(error)
            raise SystemExit(1) from None
        except SecondFollower as error:
            raise CommandError(str(error)) from None
        finally:
            lock.let_go()


def _say_why(error: Exception) -> None:
    """In the log, and to whoever asks whether the service is ready."""
    text = str(error)
    if settings.LOCALNET:
        text += (
            " After a reset of localnet: stop the service, remove the run directory"
            f" {settings.RUN_DIR} or name another one (TIDEMARK_RUN_DIR), start again."
        )
    log.error("%s", text)
    source = stream_name() if settings.UPSTREAM_GEYSER_URL else "node"
    with contextlib.suppress(*AWAY):
        publish(FollowerState(source=source, problem=text, ended_at=time.time()))


def _take(lock: SourceLock, stopping: threading.Event) -> bool:
    """Waits until the lock is ours; False when we are to stop before."""
    said = ""
    while not stopping.is_set():
        try:
            with allowed(_DATABASE_SECONDS):
                if lock.take():
                    return True
            text = "another process follows already: waiting for its end"
        except AWAY as error:
            text = f"waiting for the database: {str(error).strip()}"
        if text != said:
            log.info("%s", text)
            said = text
        progress()
        stopping.wait(_LOCK_SECONDS)
    return False


def _follow_stream(lock: SourceLock, stopping: threading.Event) -> None:
    outbox = Outbox(
        lock,
        source=stream_name(),
        limit_bytes=settings.FOLLOW_BACKLOG_BYTES,
        now=timezone.now,
    )
    teller = Teller()
    follower = Follower(
        streams(), upstream_node(), outbox, teller, assembler_bytes=_ASSEMBLER_BYTES
    )
    outbox.start()
    teller.start()
    try:
        _until_stopped(follower, stopping)
    finally:
        outbox.stop()
        teller.stop()


def _follow_node(lock: SourceLock, stopping: threading.Event) -> None:
    node = upstream_node()
    assert node is not None
    _until_stopped(NodeFollower(node, lock, now=timezone.now), stopping)


def _until_stopped(follower: Follower | NodeFollower, stopping: threading.Event) -> None:
    """Runs it in this thread. Another one waits for the signal: a handler would run in the midst of
    whatever this one holds.
    """

    def stop() -> None:
        while not stopping.wait(3600.0):
            pass
        follower.stop()

    threading.Thread(target=stop, name="stop", daemon=True).start()
    began = time.monotonic()
    follower.run()
    log.info("stopped after %.0f s", time.monotonic() - began)
