"""Estimates from samples: what a filter saves, or what its removal adds."""

from dataclasses import dataclass

from solders.pubkey import Pubkey

from historical.transactions.services import mentions
from rewind.coverage.services.epochs import epochs
from rewind.recording.store import forecasts as store
from rewind.recording.store import slots as archive
from rewind.recording.store.owners import owner_id

_LOOKED_BACK = 100_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """Per day, of writes and of bytes in the database: those of the accounts asked about, and all
    that are archived. `seen` says what it stands on: rows of a sample, or writes counted. Where
    nothing of theirs is archived, `named` transactions a day name the address in the ledger.
    """

    writes: float
    size: float
    all_writes: float
    all_size: float
    epochs_per_day: float
    seen: int
    accounts: int | None
    named: float | None
    dropped: tuple[int, int] | None

    @property
    def share(self) -> float | None:
        """Of all writes."""
        return self.writes / self.all_writes if self.all_writes else None


def of_owner(pubkey: Pubkey) -> Forecast:
    """What the accounts of the program make."""
    sample = store.sample_of_owner(owner_id(pubkey))
    share = sample.chosen_rows / sample.rows if sample.rows else 0.0
    bytes_each = _bytes_of(sample.chosen_rows, sample.chosen_size)
    return _forecast(
        pubkey,
        share * _all_writes_a_day(),
        bytes_each,
        sample,
        seen=sample.chosen_rows,
        accounts=sample.chosen_accounts,
    )


def of_account(pubkey: Pubkey) -> Forecast:
    """What the account alone makes."""
    first, last = archive.bounds() or (0, 0)
    begins = max(first, last - _LOOKED_BACK + 1)
    written = store.writes_of_account(bytes(pubkey), begins)
    if written.is_cut and written.lowest_slot is not None:
        begins = written.lowest_slot
    writes = written.rows / (last - begins + 1) * mentions.slots_per_day()
    bytes_each = _bytes_of(written.rows, written.size)
    return _forecast(
        pubkey, writes, bytes_each, store.sample_of_owner(None), seen=written.rows, accounts=None
    )


def _forecast(
    pubkey: Pubkey,
    writes: float,
    bytes_each: float,
    sample: store.Sample,
    *,
    seen: int,
    accounts: int | None,
) -> Forecast:
    a_day, all_writes = mentions.slots_per_day(), _all_writes_a_day()
    named = None
    if not seen:
        found = mentions.mentions_of(pubkey)
        named = None if found is None else found.transactions / found.slots * a_day
    return Forecast(
        writes=writes,
        size=writes * bytes_each,
        all_writes=all_writes,
        all_size=all_writes * _bytes_of(sample.rows, sample.size),
        epochs_per_day=a_day / epochs().schedule.slots_per_epoch,
        seen=seen,
        accounts=accounts,
        named=named,
        dropped=store.dropped_since(bytes(pubkey)),
    )


def _all_writes_a_day() -> float:
    bounds = archive.bounds()
    if bounds is None:
        return 0.0
    begins = max(bounds[0], bounds[1] - _LOOKED_BACK + 1)
    found = store.recent(begins)
    # The lowest run is counted whole.
    slots = bounds[1] - max(bounds[0], begins // 1_000 * 1_000) + 1
    return found.changes / slots * mentions.slots_per_day()


def _bytes_of(rows: int, size: int) -> float:
    return store.ROW_BYTES + (size / rows if rows else 0.0)
