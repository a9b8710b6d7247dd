"""Counts over runs of 1,000 slots, in the transaction of what they count."""

from collections.abc import Iterable

from columns import clusters
from columns.raw_queries import raw_connection
from columns.slot_cells import RUN_SLOTS

# A link that says more than this is of a made-up block: the sum of a run still fits its column.
_MOST_SKIPPED = 2**50


class BlockCounts:
    """What a batch adds to the counts of its runs."""

    def __init__(self) -> None:
        self._added: dict[int, tuple[int, int]] = {}

    def add(self, slot: int, parent: int, *, blocks: int = 1) -> None:
        """A block more, or with `blocks` of -1 one less."""
        run = slot // RUN_SLOTS
        known = self._added.get(run, (0, 0))
        skipped = min(max(slot - parent - 1, 0), _MOST_SKIPPED)
        self._added[run] = (known[0] + blocks, known[1] + blocks * skipped)

    def write(self) -> None:
        """Last in a transaction's writing of blocks, and in one order for all: a writer of
        the same run waits until it ends.
        """
        rows = sorted((run, *added) for run, added in self._added.items())
        if not rows:
            return
        clusters.commit_alone()
        with raw_connection().cursor() as cursor:
            for row in rows:
                cursor.execute(
                    "INSERT INTO historical_blocktally AS stored (run, blocks, skipped)"
                    " VALUES (%s, %s, %s) ON CONFLICT (run) DO UPDATE SET"
                    " blocks = stored.blocks + excluded.blocks,"
                    " skipped = stored.skipped + excluded.skipped",
                    row,
                )
            if all(blocks > 0 for _, blocks, _ in rows):
                return
            cursor.execute(
                "DELETE FROM historical_blocktally WHERE run = ANY(%s) AND blocks = 0",
                ([run for run, _, _ in rows],),
            )


def counts_of(blocks: Iterable[tuple[int, int]], *, count: int = 1) -> BlockCounts:
    """Of (slot, parent slot)."""
    counts = BlockCounts()
    for slot, parent in blocks:
        counts.add(slot, parent, blocks=count)
    return counts
