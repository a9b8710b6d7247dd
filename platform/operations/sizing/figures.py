"""What a plan is computed from: each figure with where it is from, and the documented defaults."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from shared_state.pace import NOMINAL_SECONDS


class Source(StrEnum):
    """`measured`: in this database. `documented`: of docs/benchmarks.md. `setting`: of this
    installation. `given`: by the operator.
    """

    MEASURED = "measured"
    DOCUMENTED = "documented"
    SETTING = "setting"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit, its source, and what it rests on, in a few words."""

    title: str
    value: float
    unit: str
    source: Source
    basis: str

    @property
    def text(self) -> str:
        """The number as people read it, with its unit: four digits that count, or all of them."""
        number = f"{self.value:,.0f}" if abs(self.value) >= 1_000 else f"{self.value:.4g}"
        return f"{number} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Ratios:
    """What one of something takes. Bytes are on disk, indexes and what pages leave free included.

    slot_seconds: a slot
    hot_change, hot_change_index: a change as a row, and of it the index
    sealed_change: a change in a merged segment
    cold_change, cold_change_row: a change in the object store without the dictionaries of its
        segment's objects, and what stays here of it
    account_change: the index of accounts, for each sealed change
    slot: the rows of a slot and the header of its block
    hot_transaction, hot_transaction_index: a transaction as recorded, and of it the indexes
    sealed_transaction: a sealed one
    ingested: account writes with their transactions, in a CPU second of ingest
    sealed: changes that are sealed and merged in a CPU second
    sealed_transactions: transactions that are sealed in a CPU second
    transactions_a_write: transactions for each account write
    """

    slot_seconds: Figure
    hot_change: Figure
    hot_change_index: Figure
    sealed_change: Figure
    cold_change: Figure
    cold_change_row: Figure
    account_change: Figure
    slot: Figure
    hot_transaction: Figure
    hot_transaction_index: Figure
    sealed_transaction: Figure
    ingested: Figure
    sealed: Figure
    sealed_transactions: Figure
    transactions_a_write: Figure

    def __iter__(self) -> Iterator[Figure]:
        return (getattr(self, field.name) for field in fields(self))


# A packed block: its bytes, the rest of its row with the index and what TOAST's pages leave free,
# and of that what stays when its bytes are in the object store.
BLOCK_ROW, COLD_BLOCK_ROW = 870.0, 240.0
# The dictionaries in the 256 objects of a cold segment.
COLD_DICTIONARIES = 28_800_000.0
# What one process of ingest stores in a second, with its transactions.
MOST_INGESTED = 24_960.0
# Both passes: by partition, with PostgreSQL's share, and merging.
_SEALED = 1 / (1 / 46_000 + 1 / 83_000)


def _default(title: str, value: float, unit: str, basis: str) -> Figure:
    return Figure(title, value, unit, Source.DOCUMENTED, basis)


DOCUMENTED = Ratios(
    slot_seconds=_default("A slot", NOMINAL_SECONDS, "s", "Solana's slot time"),
    hot_change=_default("A change, hot", 607.0, "B", "made writes with 904 bytes of data"),
    hot_change_index=_default("of it the index", 100.0, "B", "200,000 random keys"),
    sealed_change=_default(
        *("A change, sealed", 34.2, "B"),
        "17.1 of made writes, doubled: real ones are less alike",
    ),
    cold_change=_default(
        *("A change, cold, in the object store", 27.6, "B"),
        "13.8 of made writes, doubled",
    ),
    cold_change_row=_default(
        *("A change, cold, in the database", 0.9, "B"),
        "the row of its block",
    ),
    account_change=_default(
        *("Index of accounts, for each change", 301 / 16 / 23, "B"),
        "a row of 301 bytes for 16 segments with 23 changes each",
    ),
    slot=_default("A slot's rows and block header", 490.0, "B", "50,000 slots"),
    hot_transaction=_default("A transaction, hot", 992.0, "B", "a block of April 2025"),
    hot_transaction_index=_default("of it the indexes", 150.0, "B", "a block of April 2025"),
    sealed_transaction=_default("A transaction, sealed", 454.0, "B", "a block of April 2025"),
    ingested=_default(
        *("Writes ingested in a CPU second", 225_200 / 13.1, "writes"),
        "ingest, follower and PostgreSQL for 225,200 writes",
    ),
    sealed=_default(
        *("Changes sealed and merged in a CPU second", _SEALED, "changes"),
        "46,000 by partition, 83,000 merging",
    ),
    sealed_transactions=_default(
        *("Transactions sealed in a CPU second", 2_670.0, "transactions"),
        "a block of April 2025",
    ),
    transactions_a_write=_default(
        *("Transactions for each account write", 1_000 / 4_504, ""),
        "the made chain of the ingest benchmark",
    ),
)
