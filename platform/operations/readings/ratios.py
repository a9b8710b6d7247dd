"""What one of something takes, such as a sealed change: measured in this database where enough is
stored, else documented.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import redis

from columns.clusters import is_clustered
from historical.blocks.store import blocks
from historical.coverage.store import storage as ledger
from rewind.coverage.store import storage as archive
from shared_state import counters
from shared_state.pace import NOMINAL_SECONDS
from staff.formatting import counted


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


class Ratios(NamedTuple):
    """What one of something takes: DOCUMENTED says of what. Bytes are on disk, indexes and what
    pages leave free included.
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


# A packed block: its bytes, the rest of its row with the index and what TOAST's pages leave free,
# and of that what stays when its bytes are in the object store.
BLOCK_ROW, COLD_BLOCK_ROW = 870.0, 240.0
# The dictionaries in the 256 objects of a cold segment.
COLD_DICTIONARIES = 28_800_000.0
# What one process of ingest stores in a second, with its transactions.
MOST_INGESTED = 24_960.0
# Both passes: by partition, with PostgreSQL's share, and merging.
_SEALED = 1 / (1 / 46_000 + 1 / 83_000)
_APRIL = "a block of April 2025"


def _default(title: str, value: float, unit: str, basis: str) -> Figure:
    return Figure(title, value, unit, Source.DOCUMENTED, basis)


DOCUMENTED = Ratios(
    _default("A slot", NOMINAL_SECONDS, "s", "Solana's slot time"),
    _default("A change, hot", 607.0, "B", "made writes with 904 bytes of data"),
    _default("of it the index", 100.0, "B", "200,000 random keys"),
    _default(
        "A change, sealed",
        34.2,
        "B",
        "17.1 of made writes, doubled: real ones are less alike",
    ),
    _default("A change, cold, in the object store", 27.6, "B", "13.8 of made writes, doubled"),
    _default("A change, cold, in the database", 0.9, "B", "the row of its block"),
    _default(
        "Index of accounts, for each change",
        301 / 16 / 23,
        "B",
        "a row of 301 bytes for 16 segments with 23 changes each",
    ),
    _default("A slot's rows and block header", 490.0, "B", "50,000 slots"),
    _default("A transaction, hot", 992.0, "B", _APRIL),
    _default("of it the indexes", 150.0, "B", _APRIL),
    _default("A transaction, sealed", 454.0, "B", _APRIL),
    _default(
        "Writes ingested in a CPU second",
        225_200 / 13.1,
        "writes",
        "ingest, follower and PostgreSQL for 225,200 writes",
    ),
    _default(
        "Changes sealed and merged in a CPU second",
        _SEALED,
        "changes",
        "46,000 by partition, 83,000 merging",
    ),
    _default("Transactions sealed in a CPU second", 2_670.0, "transactions", _APRIL),
    _default(
        "Transactions for each account write",
        1_000 / 4_504,
        "",
        "the made chain of the ingest benchmark",
    ),
)


# Of fewer, empty pages and dictionaries would be most of what is measured.
LEAST_CHANGES, LEAST_TRANSACTIONS, LEAST_SLOTS = 100_000, 20_000, 5_000
_LEAST_SECONDS = 5.0


def measured_ratios() -> Ratios:
    """Measured where enough is stored, else documented. In a cluster the sizes of tables are not
    measured: they lie on its nodes.
    """
    found = dict(_packed()) | dict(_rates())
    if not is_clustered():
        found |= dict(_archive()) | dict(_ledger())
    return DOCUMENTED._replace(**found)


def measured_writes(slot_seconds: float) -> Figure | None:
    """Account writes archived in a second of the last day at most; None where less than 5,000 slots
    are archived.
    """
    runs, changes = archive.newest_rate()
    if runs * 1_000 < LEAST_SLOTS or not changes:
        return None
    rate = changes / (runs * 1_000 * slot_seconds)
    basis = f"of the newest {runs * 1_000:,} slots"
    return Figure("Account writes a second", rate, "", Source.MEASURED, basis)


def _measured(name: str, value: float, basis: str) -> tuple[str, Figure]:
    default: Figure = getattr(DOCUMENTED, name)
    return name, replace(default, value=value, source=Source.MEASURED, basis=basis)


def _archive() -> Iterable[tuple[str, Figure]]:
    # A snapshot's accounts are rows, and no changes; late rows are few in a partition.
    hot = [each for each in archive.hot_partitions() if not each.has_baseline and not each.is_late]
    changes = sum(each.changes for each in hot)
    if changes >= LEAST_CHANGES:
        basis = f"{counted(len(hot), 'partition')} with {changes:,} changes"
        yield _measured("hot_change", sum(each.bytes for each in hot) / changes, basis)
        yield _measured("hot_change_index", sum(each.index_bytes for each in hot) / changes, basis)
    accounts = archive.accounts()
    if accounts.changes >= LEAST_CHANGES:
        basis = f"the index of {accounts.changes:,} changes"
        yield _measured("account_change", accounts.bytes / accounts.changes, basis)
    rows, sizes = archive.slot_rows(), ledger.sizes()
    if rows.slots >= LEAST_SLOTS and sizes.blocks >= LEAST_SLOTS:
        value = rows.bytes / rows.slots + sizes.header_bytes / sizes.blocks
        yield _measured("slot", value, f"{rows.slots:,} slots and {sizes.blocks:,} blocks")


def _packed() -> Iterable[tuple[str, Figure]]:
    """Merged segments where there are enough of them, else those of single partitions."""
    for each in sorted(archive.packed(), key=lambda packed: not packed.is_merged):
        if each.changes < LEAST_CHANGES:
            continue
        what = "merged segment" if each.is_merged else "segment of a partition"
        plural = "" if each.is_merged else "segments of a partition"
        basis = f"{counted(each.segments, what, plural)} with {each.changes:,} changes"
        packed = each.stored_bytes + each.dictionary_bytes
        yield _measured("sealed_change", (packed + BLOCK_ROW * each.blocks) / each.changes, basis)
        yield _measured("cold_change", each.stored_bytes / each.changes, f"packed bytes of {basis}")
        row = COLD_BLOCK_ROW * each.blocks / each.changes
        yield _measured("cold_change_row", row, f"{each.blocks:,} blocks of {basis}")
        return


def _ledger() -> Iterable[tuple[str, Figure]]:
    sizes = ledger.sizes()
    # The files keep the size that they had before the largest range was sealed.
    held = int(max(sizes.hot_blocks * sizes.transactions_a_block, sizes.largest_range))
    if held >= LEAST_TRANSACTIONS:
        basis = f"{held:,} transactions, the most that were hot at once"
        yield _measured("hot_transaction", (sizes.body_bytes + sizes.row_bytes) / held, basis)
        yield _measured("hot_transaction_index", sizes.row_index_bytes / held, basis)
    if sizes.sealed_transactions >= LEAST_TRANSACTIONS:
        value = sizes.sealed_bytes / sizes.sealed_transactions
        basis = f"{sizes.sealed_transactions:,} sealed transactions"
        yield _measured("sealed_transaction", value, basis)
    times = blocks.slots_and_seconds()
    if times is not None and times[1] > 0:
        yield _measured("slot_seconds", times[1] / times[0], f"block times of {times[0]:,} slots")
    runs, changes = archive.newest_rate()
    if runs * 1_000 >= LEAST_SLOTS and changes and sizes.transactions_a_block and sizes.blocks:
        # Skipped slots have neither.
        value = sizes.transactions_a_block / (changes / (runs * 1_000))
        yield _measured("transactions_a_write", value, f"{runs * 1_000:,} slots")


def _rates() -> Iterable[tuple[str, Figure]]:
    try:
        counts = counters.read()
    except redis.RedisError:
        return
    # A change is counted when it is sealed and again when it is merged.
    for name, store, least, passes in (
        ("sealed", "archive", LEAST_CHANGES, 2),
        ("sealed_transactions", "ledger", LEAST_TRANSACTIONS, 1),
    ):
        done = counts.get((counters.SEALED, store), 0)
        seconds = counts.get((counters.SEALING_MICROSECONDS, store), 0) / 1e6
        if done >= least and seconds >= _LEAST_SECONDS:
            basis = "CPU seconds of the worker, without PostgreSQL's"
            yield _measured(name, done / seconds / passes, basis)
