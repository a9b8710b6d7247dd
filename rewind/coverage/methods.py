"""getRewindCoverage."""

from gaps.coverage import CoverageConfig, window_of
from gaps.errors import EmptyRange
from gateway.calls import Call
from rewind.coverage.results import Coverage
from rewind.coverage.services import coverage
from rewind.method_table import methods


@methods.add("getRewindCoverage", errors=(EmptyRange,))
def get_rewind_coverage(call: Call, config: CoverageConfig = CoverageConfig()) -> Coverage:
    """How far the archive reaches, and which slots of a window are missing.

    config: which window, and how much of its gaps
    """
    return coverage.coverage(window_of(config))
