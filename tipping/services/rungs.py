"""The ladder as this edge may issue from it, read at most twice a second."""

import logging
import threading
import time
from datetime import datetime

from tipping import calls
from tipping.errors import TipAddressesUnavailable
from tipping.services import batches
from tipping.store import addresses
from tipping.store.addresses import Rung

log = logging.getLogger(__name__)

# How long a change of the ladder, or a rotation elsewhere, may go unnoticed. What is issued is
# checked by the statement that issues it.
FRESH_SECONDS = 0.5
_RETRY_SECONDS = 5

_lock = threading.Lock()
_edges: dict[str, int] = {}
_read: dict[str, tuple[float, list[Rung]]] = {}


def edge_id_of(edge: str, *, now: datetime) -> int:
    """The edge's number; an edge that is new registers itself."""
    found = _edges.get(edge)
    if found is None:
        found = _edges[edge] = addresses.edge_id_of(edge[:60], now=now)
    return found


def rungs(edge: str, *, now: datetime) -> list[Rung]:
    """Every class of the ladder, shortest first. Where a batch ended and its rotation is late, the
    next one is opened here.
    """
    known = _known(edge, now=now)
    if known is not None:
        return known
    with _lock:
        known = _known(edge, now=now)  # another thread was first
        if known is not None:
            return known
        edge_id = edge_id_of(edge, now=now)
        read = addresses.ladder(edge_id)
        due = [rung.ttl_class_id for rung in read if _is_due(rung, now=now)]
        if due:
            opened = sum(batches.rotate(each, now=now, edge_id=edge_id, wait=True) for each in due)
            if opened:
                calls.ask_for_batches()  # the ones behind, before these too run dry
            # Also where nothing was opened: another edge may have been first.
            read = addresses.ladder(edge_id)
        _read[edge] = (time.monotonic(), read)
        return read


def is_issuable(rung: Rung, *, now: datetime) -> bool:
    """A fetch from it gets an address now."""
    return bool(rung.batch_id) and rung.has_more and now.timestamp() < rung.window_ends_at


def require_some(ladder: list[Rung]) -> None:
    """Raises TipAddressesUnavailable where there is no class at all."""
    if not ladder:
        raise TipAddressesUnavailable("there is no TTL class", retry_seconds=_RETRY_SECONDS)


def default_ttl(ladder: list[Rung]) -> int:
    """That of a fetch that names none; the longest where no class is the default."""
    return next((rung.ttl_seconds for rung in ladder if rung.is_default), ladder[-1].ttl_seconds)


def stale(edge: str, seen: list[Rung]) -> None:
    """What was seen turned out not to hold any more: read it anew next time."""
    known = _read.get(edge)
    if known is not None and known[1] is seen:
        _read.pop(edge, None)


def forget() -> None:
    _read.clear()
    _edges.clear()


def _known(edge: str, *, now: datetime) -> list[Rung] | None:
    known = _read.get(edge)
    if known is None or time.monotonic() - known[0] >= FRESH_SECONDS:
        return None
    seconds = now.timestamp()
    if any(rung.batch_id and rung.window_ends_at <= seconds for rung in known[1]):
        return None
    return known[1]


def _is_due(rung: Rung, *, now: datetime) -> bool:
    """This edge can have nothing of its batch, and there is something to be done about it."""
    return not is_issuable(rung, now=now) and bool(rung.has_next or rung.batch_id)
