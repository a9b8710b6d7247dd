"""Records the tips in blocks that are stored, from any source."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.conf import settings

from chain.blocks import SlotRecord
from priority.fates.store.settling import keys_of
from tipping.services import ledger
from tipping.services.ledger import OwnAddresses

_RUN_BLOCKS = 16


def record(records: Iterable[SlotRecord], *, now: datetime) -> None:
    """Call in the transaction that stores the blocks."""
    ledger.record(records, own=own_addresses(), submitters=keys_of, now=now)


def recorded(records: Iterable[SlotRecord], *, now: datetime) -> Iterator[SlotRecord]:
    """Yields the same blocks and records their tips. Consume it in the transaction that stores
    them.
    """
    run: list[SlotRecord] = []
    for each in records:
        yield each
        run.append(each)
        if len(run) >= _RUN_BLOCKS:
            record(run, now=now)
            run.clear()
    record(run, now=now)


def own_addresses() -> OwnAddresses:
    """Static tip addresses, and the treasury."""
    static = frozenset(bytes(pubkey) for pubkey in settings.TIP_ADDRESSES)
    return OwnAddresses(static, bytes(settings.TREASURY_ADDRESS))
