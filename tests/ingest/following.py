"""A follower in this process, and a worker beside it: what `make run` starts as processes."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.utils import timezone

from historical.blocks.services.bounds import newest_slot_or_none
from ingest import slot_queue
from ingest.event_publisher import EventPublisher
from ingest.follower import Follower
from ingest.services.slots import ingest_waiting
from ingest.slot_sender import SlotSender
from ingest.sources import SourceLock, Stream
from livefeed.feed import LiveFeed
from tests.localnet_process import Localnet
from tests.patience import wait
from upstream.node import Node


@dataclass
class Following:
    """A running follower; `failure` is what its thread raised."""

    follower: Follower
    sender: SlotSender
    failure: list[BaseException]


def caught_up(localnet: Localnet) -> None:
    """Returns when what was final at the call is stored."""
    final = localnet.call("getSlot", {"commitment": "finalized"})

    def stored() -> bool:
        newest = newest_slot_or_none()
        return newest is not None and newest >= final

    wait(stored, "following the chain from its first slot")


@contextlib.contextmanager
def worker() -> Iterator[None]:
    """Stores whatever waits, at its end what a follower left."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.wait(0.02):
            ingest_waiting(now=timezone.now, seconds=5.0)
        left = slot_queue.count()  # not more: a follower may go on
        while left > 0:
            done = ingest_waiting(now=timezone.now, seconds=0.0)
            left = left - done.stored - len(done.refused) if done.stored or done.refused else 0
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _live_feed() -> LiveFeed:
    """It rests whenever no process wants anything, and begins anew with who comes next."""
    return LiveFeed(has_entries=settings.FOLLOW_ENTRIES, lingering_seconds=0.0)


@contextlib.contextmanager
def follower(
    geyser_url: str,
    node_url: str | None,
    *more_urls: str,
    limit_bytes: int = 1 << 28,
    node_seconds: float = 30.0,
) -> Iterator[Following]:
    """Follows the stream, and more streams of the chain, until the end of the block."""
    lock = SourceLock(geyser_url)
    wait(lock.take, "the lock that a follower before this one held")
    sender = SlotSender(lock, source="localnet", limit_bytes=limit_bytes, now=timezone.now)
    node = None if node_url is None else Node(node_url, timeout_seconds=node_seconds)
    publisher, live = EventPublisher(), _live_feed()
    streams = [Stream("localnet", geyser_url, "")]
    streams += [Stream(f"stream {n}", url, "") for n, url in enumerate(more_urls, start=2)]
    running = Follower(streams, node, sender, publisher, live, assembler_bytes=1 << 28)
    failure: list[BaseException] = []

    def run() -> None:
        try:
            running.run()
        except BaseException as error:
            failure.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    sender.start()
    publisher.start()
    live.start()
    thread.start()
    try:
        yield Following(running, sender, failure)
    finally:
        running.stop()
        sender.stop()
        thread.join()
        publisher.stop()
        live.stop()
        lock.let_go()
