"""The walk through partitions: by the index, and while some of them leave the window."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewind.accounts.services import changes
from rewind.accounts.store.walking import rows_below
from rewind.errors import SlotTooOld
from rewind.models import AccountChange, ArchiveState
from rewind.positions import Position
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store import partitions
from rewind.sealed.services import segments
from rewind.sealed.store import segments as store
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, signature, write


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Partitions of 8 slots, segments of 3 partitions."""
    monkeypatch.setattr(partitions, "PARTITION_SLOTS", 8)
    monkeypatch.setattr(partitions, "SEGMENT_SLOTS", 24)
    partitions.forget()
    yield
    partitions.forget()


def record(slots: range, *, every: int) -> None:
    """Account 1 is written in every so many slots, account 2 in all of them, account 3 in none."""
    record_slots(
        [
            block(
                slot,
                writes=[write(2, signature(slot, 0), version=1)]
                + [write(1, signature(slot, 1), version=2)] * (slot % every == 0),
            )
            for slot in slots
        ],
        source="stream",
        now=NOW,
    )


def walked(account: int, below: Position, first: int, at_once: int) -> list[tuple[int, int]]:
    layout = ArchiveState.objects.get().layout
    batches = list(rows_below(key(account), below, first, layout, at_once=at_once))
    assert all(0 < len(rows) <= at_once for rows in batches)
    return [(row.slot, row.position) for rows in batches for row in rows]


@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_with_an_index_or_without_it_the_same_rows_come(
    db: None, small: None, at_once: int
) -> None:
    record(range(24, 240), every=37)
    before = partitions.segment_of(239)
    for indexed in (False, True):
        if indexed:
            while segments.index_next() is not None:
                pass
            assert store.progress().indexed >= before - 1
        partitions.forget()
        for account in (1, 2, 3):
            there = AccountChange.objects.filter(pubkey=key(account)).order_by("-slot", "-position")
            whole = list(there.values_list("slot", "position"))
            for below, first in [((240, 0), 0), ((120, 1), 60), ((111, 1), 111), ((50, 0), 49)]:
                expected = [place for place in whole if place < below and place[0] >= first]
                assert walked(account, Position(*below), first, at_once) == expected


def test_a_partition_that_leaves_the_window_meanwhile_is_not_missed(
    committed: None, small: None
) -> None:
    record(range(24, 72), every=5)
    layout = ArchiveState.objects.get().layout
    walk = rows_below(key(2), Position(72, 0), 40, layout, at_once=10)
    rows = next(walk)
    prune(40)
    rows += [row for batch in walk for row in batch]
    found = [row.slot for row in rows if row.is_write]
    assert found == list(range(71, 39, -1))


def test_a_range_that_leaves_the_window_meanwhile_is_refused(committed: None, small: None) -> None:
    record(range(24, 72), every=5)
    asking = changes.Asking(from_slot=30, to_slot=71)
    pubkey: Any = AccountChange.objects.filter(pubkey=key(2)).first()
    assert len(changes.account_changes(pubkey.pubkey, asking, most_bytes=10**6).page.changes) == 42
    prune(40)
    with pytest.raises(SlotTooOld):
        changes.account_changes(pubkey.pubkey, asking, most_bytes=10**6)
