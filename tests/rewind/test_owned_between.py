"""What a program's accounts were at the ends of past slots: exactly what any history says."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from rewind.sealed.packing.slot_owners import packed, pairs_of, prefixes_of
from tests.examples import examples
from tests.rewind.histories import _OWNERS, ACCOUNTS, History, histories
from tests.rewind.samples import PROGRAM, block, key, signature, write

SETTINGS = settings(max_examples=examples(40))
State = tuple[bytes, int, bytes, bytes, int | None]


def expected(history: History, owner: bytes | None) -> dict[int, set[State]]:
    """Of each slot the last write of every account that is the owner's then."""
    found: dict[int, set[State]] = {}
    for account in ACCOUNTS:
        last = {row.slot: row for row in history.rows[account] if row.is_write}
        for slot, row in last.items():
            if owner in (None, row.owner):
                index = row.position if 0 <= row.position < 2**31 - 1 else None
                state = key(account), row.lamports, row.owner, row.data, index
                found.setdefault(slot, set()).add(state)
    return found


def read(owner: bytes | None, first: int, last: int, most: int) -> dict[int, set[State]]:
    """The same by as many reads as it takes."""
    from rewind.accounts.services.owned_between import owned_between

    found: dict[int, set[State]] = {}
    while first <= last:
        page = owned_between(None if owner is None else [owner], first, last, most=most)
        assert first <= page.last <= last
        for slot, writes in page.slots.items():
            assert first <= slot <= page.last and slot not in found
            states = [(each.pubkey, each.written()) for each in writes]
            assert len({pubkey for pubkey, _ in states}) == len(states)
            places = [write.place for _, write in states if write.place is not None]
            assert places == sorted(places)
            found[slot] = {
                (pubkey, each.lamports, each.owner, each.data, each.place)
                for pubkey, each in states
            }
        first = page.last + 1
    return found


@SETTINGS
@given(histories(), st.sampled_from([None, *_OWNERS]), st.integers(1, 4))
def test_any_history_in_any_form_is_read_as_it_was(
    db: None, history: History, owner: bytes | None, most: int
) -> None:
    with transaction.atomic():
        history.archive()
        assert read(owner, history.first, history.last, most) == expected(history, owner)
        middle = history.slots[len(history.slots) // 2].slot
        part = {slot: each for slot, each in expected(history, owner).items() if slot >= middle}
        assert read(owner, middle, history.last, most) == part
        transaction.set_rollback(True)


def test_accounts_that_begin_with_the_same_bytes_are_told_apart(record: Any) -> None:
    """One prefix, three accounts of two owners; one of them leaves its owner, one is closed."""
    near = [bytes([5]) * 4 + bytes([number]) * 28 for number in (0, 7, 255)]
    other = bytes([3]) * 32
    by = [signature(200, number) for number in range(3)]
    record(
        block(
            200,
            writes=[
                write(near[0], by[0], version=1, data=b"stays"),
                write(near[1], by[0], version=2, data=b"leaves"),
                write(near[2], by[1], version=3, owner=other),
                write(near[1], by[2], version=4, owner=other, data=b"left"),
            ],
        ),
        block(
            201,
            writes=[
                write(near[0], signature(201, 1), lamports=0, owner=bytes(32)),
                write(b"\xff" * 32, signature(201, 2), version=2, data=b"the last"),
            ],
        ),
    )
    assert read(PROGRAM, 0, 300, 100) == {
        200: {(near[0], 1_000, PROGRAM, b"stays", 0)},
        201: {(b"\xff" * 32, 1_000, PROGRAM, b"the last", 2)},
    }
    assert {pubkey for pubkey, *_ in read(other, 200, 200, 1)[200]} == {near[1], near[2]}
    assert sum(map(len, read(None, 200, 201, 1).values())) == 5


def test_slots_that_have_no_list_are_not_listed(record: Any) -> None:
    from rewind.accounts.services.owned_between import owned_between
    from rewind.models import SlotOwners

    record(*(block(slot, writes=[write(1, signature(slot, 0))]) for slot in range(10, 14)))
    SlotOwners.objects.filter(slot=12).delete()
    page = owned_between([PROGRAM], 10, 13, most=100)
    assert page.listed == {10, 11, 13}
    assert set(page.slots) == {10, 11, 13}
    assert owned_between([bytes(Pubkey.new_unique())], 10, 13, most=100).slots == {}


@pytest.mark.parametrize("size", [0, 1, 5, 4_000])
def test_a_list_is_read_as_it_was_packed(size: int) -> None:
    pairs = {(number % 7 + 1, number * 2_654_435_761 % 2**32) for number in range(size)}
    listed = packed(pairs)
    assert set(pairs_of(listed)) == pairs
    assert sorted(prefixes_of(listed, None)) == sorted(prefix for _, prefix in pairs)
    assert set(prefixes_of(listed, {3})) == {prefix for owner, prefix in pairs if owner == 3}
