"""getRewindCoverage."""

from gateway.calls import Call
from jsonrpc.params import U64, Config
from rewind.errors import EmptyRange
from rewind.methods.table import methods
from rewind.results.coverage import Coverage
from rewind.services import coverage

_LISTED_GAPS = 1_000


class CoverageConfig(Config, frozen=True, kw_only=True):
    """Which window, and how much of its gaps.

    from_slot: the window's first slot; the archive's own by default
    to_slot: the window's last slot; the archive's own by default
    max_gaps: how many gaps to list: 1,000 by default, at most 10,000
    include_gaps: whether to list them; true by default
    """

    from_slot: U64 | None = None
    to_slot: U64 | None = None
    max_gaps: U64 | None = None
    include_gaps: bool | None = None


@methods.add("getRewindCoverage", errors=(EmptyRange,))
def get_rewind_coverage(call: Call, config: CoverageConfig = CoverageConfig()) -> Coverage:
    """How far the archive reaches, and which slots of a window are missing.

    config: which window, and how much of its gaps
    """
    return coverage.coverage(
        from_slot=config.from_slot,
        to_slot=config.to_slot,
        max_gaps=_LISTED_GAPS if config.max_gaps is None else config.max_gaps,
        include_gaps=config.include_gaps is not False,
    )
