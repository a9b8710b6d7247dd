"""The TTL classes as this edge can issue from them, read at most twice a second."""

import threading
import time
from datetime import datetime

from columns.kept import Remembered
from tipping import calls
from tipping.errors import TipAddressesUnavailable
from tipping.services import batches
from tipping.store import addresses
from tipping.store.addresses import EdgeClass

# How long a changed class, or a rotation by another process, may go unnoticed. The statement that
# issues addresses checks again.
FRESH_SECONDS = 0.5
_RETRY_SECONDS = 5

_lock = threading.Lock()
_edges: Remembered[str, int] = Remembered()
_read: Remembered[str, tuple[float, list[EdgeClass]]] = Remembered()


def edge_id_of(edge: str, *, now: datetime) -> int:
    """The edge's id; a new edge registers itself."""
    found = _edges.get(edge)
    if found is None:
        found = _edges[edge] = addresses.edge_id_of(edge[:60], now=now)
    return found


def read(edge: str, *, now: datetime) -> list[EdgeClass]:
    """Every class, shortest first. Opens the next batch itself where the rotation is late."""
    known = _known(edge, now=now)
    if known is not None:
        return known
    with _lock:
        known = _known(edge, now=now)  # another thread was first
        if known is not None:
            return known
        edge_id = edge_id_of(edge, now=now)
        read = addresses.edge_classes(edge_id)
        due = [edge_class.ttl_class_id for edge_class in read if _is_due(edge_class, now=now)]
        if due:
            opened = sum(batches.rotate(each, now=now, edge_id=edge_id, wait=True) for each in due)
            if opened:
                calls.request_batches()  # the next ones, before these are used up too
            # Also if nothing was opened: another edge may have been first.
            read = addresses.edge_classes(edge_id)
        _read[edge] = (time.monotonic(), read)
        return read


def is_issuable(edge_class: EdgeClass, *, now: datetime) -> bool:
    """Whether a fetch from it gets an address now."""
    return (
        bool(edge_class.batch_id)
        and edge_class.has_more
        and now.timestamp() < edge_class.window_ends_at
    )


def require_some(classes: list[EdgeClass]) -> None:
    """Raises TipAddressesUnavailable if there is no class."""
    if not classes:
        raise TipAddressesUnavailable("there is no TTL class", retry_seconds=_RETRY_SECONDS)


def default_ttl(classes: list[EdgeClass]) -> int:
    """The TTL of a fetch without one; the longest if no class is the default."""
    return next(
        (edge_class.ttl_seconds for edge_class in classes if edge_class.is_default),
        classes[-1].ttl_seconds,
    )


def stale(edge: str, seen: list[EdgeClass]) -> None:
    """Drops the cached classes if they are `seen`, which turned out to be out of date."""
    known = _read.get(edge)
    if known is not None and known[1] is seen:
        _read.pop(edge, None)


def _known(edge: str, *, now: datetime) -> list[EdgeClass] | None:
    known = _read.get(edge)
    if known is None or time.monotonic() - known[0] >= FRESH_SECONDS:
        return None
    seconds = now.timestamp()
    if any(edge_class.batch_id and edge_class.window_ends_at <= seconds for edge_class in known[1]):
        return None
    return known[1]


def _is_due(edge_class: EdgeClass, *, now: datetime) -> bool:
    """Whether this edge can issue nothing from its batch, and a rotation may help."""
    return not is_issuable(edge_class, now=now) and bool(edge_class.has_next or edge_class.batch_id)
