"""What is sealed: the runs of the index, and a number that moves when they change."""

from typing import NamedTuple

from columns.generation_cache import GenerationCache
from columns.raw_queries import fetch_all
from historical.ledger_generations import SEALING
from historical.packed_index import AddressIndex, SignatureIndex

# Beside what a statement reads: under one snapshot both belong together.
VERSION = "(SELECT coalesce((SELECT number FROM historical_sealversion WHERE id = 1), 0) AS number)"


class Moved(Exception):
    """What is sealed changed between two reads that belong together: they have to begin again."""


class Run(NamedTuple):
    """A run of the index; `removed` are first and last slots of ranges whose entries do not
    count.
    """

    id: int
    kind: int
    first_slot: int
    last_slot: int
    removed: list[int]

    def counts(self, slot: int) -> bool:
        """Whether entries of the slot count."""
        ends = self.removed
        return not ends or not any(
            first <= slot <= last for first, last in zip(ends[::2], ends[1::2], strict=True)
        )


class Sealed(NamedTuple):
    """The runs, those of the highest slots first."""

    version: int
    signature_runs: list[Run]
    address_runs: list[Run]


_state: GenerationCache[None, Sealed] = GenerationCache(SEALING, 1)


def known() -> Sealed:
    """Reads of the runs raise Moved if it is not that any more."""
    return _state.get(None, now) or now()


def now() -> Sealed:
    """As the database has it."""
    rows = fetch_all(
        "SELECT v.number, r.id, r.kind, r.first_slot, r.last_slot, r.removed"
        f" FROM {VERSION} AS v LEFT JOIN historical_indexrun r ON r.state = 1"
        " ORDER BY r.last_slot DESC, r.id DESC"
    )
    runs = [Run(*row) for _, *row in rows if row[0] is not None]
    return Sealed(
        rows[0][0],
        [run for run in runs if run.kind == SignatureIndex.kind],
        [run for run in runs if run.kind == AddressIndex.kind],
    )
