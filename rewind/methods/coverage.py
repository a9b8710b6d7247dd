"""getRewindCoverage."""

from gateway.endpoint import Call
from jsonrpc.params import U64, Config
from rewind.methods.table import methods
from rewind.results.coverage import Coverage
from rewind.services import coverage

_LISTED_GAPS = 1_000


class CoverageConfig(Config, frozen=True, kw_only=True):
    from_slot: U64 | None = None
    to_slot: U64 | None = None
    max_gaps: U64 | None = None
    include_gaps: bool | None = None


@methods.add("getRewindCoverage")
def get_rewind_coverage(call: Call, config: CoverageConfig = CoverageConfig()) -> Coverage:
    """The archive's ends, and what it lacks of a window of slots."""
    return coverage.coverage(
        from_slot=config.from_slot,
        to_slot=config.to_slot,
        max_gaps=_LISTED_GAPS if config.max_gaps is None else config.max_gaps,
        include_gaps=config.include_gaps is not False,
    )
