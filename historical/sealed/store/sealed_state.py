"""What is sealed: the runs of the index, and a number that moves when they change."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from columns.caches import GenerationCache
from columns.generations import in_transaction
from columns.raw_queries import afetch_all
from eventloop.faces import complete
from historical.errors import SealedDataDamaged
from historical.ledger_generations import SEALING
from historical.sealed.packed_index import AddressIndex, SignatureIndex

# Beside what a statement reads: under one snapshot both belong together.
VERSION = "(SELECT coalesce((SELECT number FROM historical_sealversion WHERE id = 1), 0) AS number)"
VERSION_QUERY = f"SELECT number FROM {VERSION} AS v"

T = TypeVar("T")
# Sealing moves some times in a minute.
_MOST_TRIES = 50


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
        return counts(self.removed, slot)


def counts(removed: Sequence[int], slot: int) -> bool:
    """Whether entries of the slot count in a run from which those were removed."""
    return not removed or not any(
        first <= slot <= last for first, last in zip(removed[::2], removed[1::2], strict=True)
    )


class Sealed(NamedTuple):
    """The runs, those of the highest slots first."""

    version: int
    signature_runs: list[Run]
    address_runs: list[Run]


_state: GenerationCache[None, Sealed] = GenerationCache(SEALING, 1)


def known() -> Sealed:
    """Reads of the runs raise Moved if it is not that any more."""
    return complete(aknown())


async def aknown() -> Sealed:
    """The same, awaited."""
    return await _state.aget(None, anow) or await anow()


def of_one_version(read: Callable[[Callable[[], "Sealed"]], T]) -> T:
    """What `read` returns when it does not raise Moved; it is given what reads the state. Raises
    SealedDataDamaged where it does so again and again.
    """
    for number in range(_MOST_TRIES):
        try:
            return read(now if number else known)
        except Moved:
            continue
    raise SealedDataDamaged("the index names blocks that are not sealed")


def of_both(read: Callable[[], T], is_whole: Callable[[T], bool] = bool) -> T:
    """What `read` finds, which looks among the rows of blocks that are not sealed and then among
    those that are. A block that is replaced when it is sealed moves the other way: if it is in
    neither for that, it is read once more; not in a transaction, which has no number.
    """
    while True:
        number = SEALING.read()
        found = read()
        if is_whole(found) or (number is not None and number == SEALING.read()):
            return found
        if number is None:
            return found if in_transaction() else read()


def now() -> Sealed:
    """As the database has it."""
    return complete(anow())


async def anow() -> Sealed:
    """The same, awaited."""
    rows = await afetch_all(
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
