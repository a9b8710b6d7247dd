"""History that the ledger does not store: which slots, and reading them from the archive."""

import logging
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from django.conf import settings

from chain.units import Slot
from historical.blocks.store import blocks as store
from historical.errors import (
    BlockCleanedUp,
    BlockNotAvailable,
    RemoteHistoryDamaged,
    RemoteHistoryUnavailable,
    SlotMissing,
    SlotSkipped,
)
from historical.remote.services.remote_threads import ReadThreads
from jsonrpc.errors import RpcError
from upstream.old_faithful.errors import Damaged, Unreachable
from upstream.old_faithful.history import History
from upstream.old_faithful.ranges import Archive

log = logging.getLogger(__name__)

T = TypeVar("T")
# How long a verdict on the chain counts: the same one; unknown, or another one.
_SAME_SECONDS = 3_600.0
_UNKNOWN_SECONDS = 10.0
# Of every response that the archive had a part in.
HEADERS = {"X-History-Source": "old-faithful"}


@dataclass(frozen=True, slots=True)
class RemoteReads:
    """A call that may read remote history: `holder` is its caller, whose reads are limited, and
    `headers` those of its response, where the archive is named if it had a part in it.
    """

    holder: object
    headers: dict[str, str]

    def read(self, read: Callable[[History], T], slot: int | None = None) -> T:
        """What the function reads, in one of the archive's threads. Raises
        RemoteHistoryUnavailable, RemoteHistoryDamaged, RemoteHistoryBusy.
        """
        history, threads = opened()
        try:
            found = threads.run(self.holder, lambda: read(history))
        except Unreachable as fault:
            log.warning("remote history cannot be read: %s", fault)
            raise RemoteHistoryUnavailable(slot) from None
        except Damaged as fault:
            log.error("remote history is damaged: %s", fault)
            raise RemoteHistoryDamaged(slot) from None
        return found

    def later(self, function: Callable[[], T]) -> Coroutine[Any, Any, T]:
        """The outcome of a function that reads the archive: it runs in one of the archive's
        threads, and holds up no other. Raises RemoteHistoryBusy.
        """
        return opened()[1].arun(self.holder, function)

    def mark(self) -> None:
        """The archive had a part in the response."""
        self.headers.update(HEADERS)


def is_configured() -> bool:
    """Whether there is an archive, and the ledger is not of another chain."""
    return bool(settings.OLD_FAITHFUL_URL) and _verdict.is_same(settings.OLD_FAITHFUL_NETWORK)


def check_chain_by(check: Callable[[str], bool | None]) -> None:
    """`check` says whether the stored chain is that of the network; None while it is unknown."""
    _verdict.check = check
    _verdict.forget()


class _Verdict:
    """Whether the archive's network is the stored chain: a chain that is the same stays so."""

    def __init__(self) -> None:
        self.check: Callable[[str], bool | None] = lambda network: None
        self.forget()

    def forget(self) -> None:
        self._network: str | None = None
        self._is_same = False
        self._until = 0.0

    def is_same(self, network: str) -> bool:
        now = time.monotonic()
        if network != self._network or now >= self._until:
            found = self.check(network)
            if found is False:
                log.error("OLD_FAITHFUL_NETWORK=%s is not the ledger's chain: not read", network)
            self._network, self._is_same = network, found is not False
            self._until = now + (_SAME_SECONDS if found else _UNKNOWN_SECONDS)
        return self._is_same


_verdict = _Verdict()


def opened() -> tuple[History, ReadThreads]:
    """This process's archive, and the threads that read it: one of each, whose limits are all
    calls'.
    """
    with _opening:
        return _opened(
            os.getpid(),  # its connections and threads are of this process alone
            settings.OLD_FAITHFUL_URL,
            settings.OLD_FAITHFUL_NETWORK,
            settings.OLD_FAITHFUL_FIRST_EPOCH,
            settings.OLD_FAITHFUL_TIMEOUT_SECONDS,
            settings.OLD_FAITHFUL_CACHE_BYTES,
        )


_opening = Lock()


@lru_cache(maxsize=1)
def _opened(
    _process: int, url: str, network: str, first_epoch: int, seconds: int, cache: int
) -> tuple[History, ReadThreads]:
    archive = Archive(url, timeout_seconds=seconds, cache_bytes=cache)
    return History(archive, network=network, first_epoch=first_epoch), ReadThreads()


def is_below(slot: int) -> bool:
    """Whether there is an archive and the slot lies below all that the ledger stores."""
    if not is_configured():
        return False
    bounds = store.bounds()
    return bounds is None or slot < bounds[0]


def is_above(slot: int) -> bool:
    """Whether the slot lies above all that the ledger stores."""
    bounds = store.bounds()
    return bounds is not None and slot > bounds[1]


def may_have(why_not_here: RpcError) -> bool:
    """Whether the archive may have a block that the ledger does not have, for that reason: below
    the first stored one, in a range that was never stored, or any while nothing is stored.
    """
    if not is_configured():
        return False
    if isinstance(why_not_here, BlockNotAvailable):
        return store.bounds() is None
    return isinstance(why_not_here, BlockCleanedUp | SlotMissing)


def why_neither(history: History, slot: int, why_not_here: RpcError) -> RpcError:
    """The refusal for a slot that has no block in the archive either. For a remote thread."""
    if not history.has_epoch(slot):
        return why_not_here
    parent = history.parent_of_next_block(slot)
    if parent is None:
        return SlotMissing(Slot(slot))
    if parent >= slot:
        raise Damaged(f"slot {slot}", f"no such block, though a later one names slot {parent}")
    return SlotSkipped(Slot(slot))


def missing_ranges(first: int, last: int) -> list[tuple[int, int]]:
    """The parts of a range, both ends inclusive, whose contents the ledger does not know: all slots
    below its first block, and what its blocks' parent links leave open.
    """
    bounds = store.bounds()
    if bounds is None:
        return [(first, last)]
    found = [(first, min(last, bounds[0] - 1))] if first < bounds[0] else []
    low, high = max(first, bounds[0]), min(last, bounds[1])
    above = low
    for slot, parent in store.links_between(low, high, and_next=True) if low <= high else ():
        if min(parent, high) >= above:
            found.append((above, min(parent, high)))
        above = slot + 1
    return found
