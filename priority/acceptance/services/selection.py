"""The upstreams that a caller may choose, and those it has chosen."""

import threading
import time
from collections.abc import Iterable, Sequence

from priority.acceptance.errors import (
    BundlesOff,
    NoUpstreamChosen,
    UnknownUpstream,
    UpstreamsUnread,
)
from priority.submissions import BUNDLE_NAME
from priority.upstreams.models import Upstream
from priority.upstreams.store import UpstreamRow, enabled_upstreams
from shared_state.outages import AWAY

# A change is noticed within this, at the price of two queries a process.
_FRESH_SECONDS = 2.0

_reading = threading.Lock()
_rows: Sequence[UpstreamRow] | None = None
_read_at = 0.0


def chosen_upstreams(names: Iterable[str], *, tier: str) -> list[str]:
    """The names in lower case, each once and in order; of none at all every upstream is meant, and
    nothing is looked up. Raises UnknownUpstream, NoUpstreamChosen, UpstreamsUnread.
    """
    wanted = list(dict.fromkeys(name.lower() for each in names if (name := each.strip())))
    if not wanted:
        return []
    known = selectable(tier)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UnknownUpstream(unknown, known)
    if wanted == [BUNDLE_NAME]:
        raise NoUpstreamChosen(known)
    return wanted


def selectable(tier: str) -> list[str]:
    """Names that a caller of the tier may choose. Raises UpstreamsUnread."""
    taking = [row for row in _upstreams() if row.draining_since is None]
    rows = [row for row in taking if not row.tiers or tier in row.tiers]
    engines = Upstream.Kind.BLOCK_ENGINE
    names = [row.name.lower() for row in rows if row.kind != engines]
    return [*names, BUNDLE_NAME] if any(row.kind == engines for row in rows) else names


def require_block_engine(tier: str) -> None:
    """Raises BundlesOff where the tier has none, UpstreamsUnread."""
    if BUNDLE_NAME not in selectable(tier):
        raise BundlesOff


def forget() -> None:
    """Drops the cached upstreams."""
    global _rows
    _rows = None


def _upstreams() -> Sequence[UpstreamRow]:
    """As they were read at most two seconds ago, or when the database last answered."""
    global _rows, _read_at
    rows = _rows
    if rows is not None and time.monotonic() - _read_at < _FRESH_SECONDS:
        return rows
    if not _reading.acquire(blocking=rows is None):
        assert rows is not None  # another thread reads them
        return rows
    try:
        if rows is None and _rows is not None:
            return _rows  # read while this thread waited
        rows = enabled_upstreams()
    except AWAY:
        if rows is None:
            raise UpstreamsUnread from None
    finally:
        _reading.release()
    _rows, _read_at = rows, time.monotonic()
    return rows
