"""This installation's own ratios, where enough is stored to measure them."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace

import redis

from columns.clusters import is_clustered
from historical.store import storage as ledger
from operations.sizing.figures import (
    BLOCK_ROW,
    COLD_BLOCK_ROW,
    DOCUMENTED,
    Figure,
    Ratios,
    Source,
)
from rewind.store import storage as archive
from shared_state import counters
from staff.formatting import counted

# Of fewer, empty pages and dictionaries would be most of what is measured.
LEAST_CHANGES, LEAST_TRANSACTIONS, LEAST_SLOTS = 100_000, 20_000, 5_000
_LEAST_SECONDS = 5.0


def ratios() -> Ratios:
    """Measured where enough is stored, else documented. In a cluster the sizes of tables are not
    measured: they lie on its nodes.
    """
    found = dict(_packed()) | dict(_rates())
    if not is_clustered():
        found |= dict(_archive()) | dict(_ledger())
    known = {field.name for field in fields(Ratios)}
    assert found.keys() <= known
    return replace(DOCUMENTED, **found)


def writes_per_second(slot_seconds: float) -> Figure | None:
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
    return name, replace(
        getattr(DOCUMENTED, name), value=value, source=Source.MEASURED, basis=basis
    )


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
    times = ledger.slots_and_seconds()
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

    def rate(store: str, least: int, passes: Callable[[float], float]) -> float | None:
        done = counts.get((counters.SEALED, store), 0)
        seconds = counts.get((counters.SEALING_MICROSECONDS, store), 0) / 1e6
        return passes(done / seconds) if done >= least and seconds >= _LEAST_SECONDS else None

    basis = "CPU seconds of the worker, without PostgreSQL's"
    # A change is counted when it is sealed and again when it is merged.
    sealed = rate("archive", LEAST_CHANGES, lambda found: found / 2)
    if sealed is not None:
        yield _measured("sealed", sealed, basis)
    transactions = rate("ledger", LEAST_TRANSACTIONS, lambda found: found)
    if transactions is not None:
        yield _measured("sealed_transactions", transactions, basis)
