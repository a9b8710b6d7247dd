"""The upstreams that a caller may choose, and those it has chosen."""

from collections.abc import Iterable, Sequence

from columns.kept import Kept
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
    taking = [row for row in _upstreams.value() if row.draining_since is None]
    rows = [row for row in taking if not row.tiers or tier in row.tiers]
    engines = Upstream.Kind.BLOCK_ENGINE
    names = [row.name.lower() for row in rows if row.kind != engines]
    return [*names, BUNDLE_NAME] if any(row.kind == engines for row in rows) else names


def require_block_engine(tier: str) -> None:
    """Raises BundlesOff where the tier has none, UpstreamsUnread."""
    if BUNDLE_NAME not in selectable(tier):
        raise BundlesOff


def _read(before: Sequence[UpstreamRow] | None) -> Sequence[UpstreamRow]:
    """As they are, or as they were when the database last answered."""
    try:
        return enabled_upstreams()
    except AWAY:
        if before is None:
            raise UpstreamsUnread from None
        return before


_upstreams = Kept(_FRESH_SECONDS, _read)
