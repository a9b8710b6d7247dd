"""Whatever filters dropped and whenever they were set: no answer is wrong and silent about it."""

import hashlib
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from columns.kept import forget_all
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.histories import Ask, asking, text
from tests.rewind.samples import block, key, signature, write

SETTINGS = settings(
    max_examples=examples(40),
)
ALICE = text(key(1))
OWNERS = (bytes([7]) * 32, bytes([9]) * 32)
FIRST = 100

_filters = st.sampled_from([None, "account", *OWNERS])
# What filter is set or lifted, how far away the next slot is, and what is written there.
_steps = st.tuples(
    _filters,
    st.sampled_from([1, 2, 40]),
    st.none()
    | st.tuples(st.sampled_from([0, 5, 6]), st.sampled_from(OWNERS), st.binary(max_size=1)),
)


@dataclass(frozen=True)
class Written:
    slot: int
    lamports: int
    owner: bytes
    data: bytes


@pytest.fixture
def ask(client: Any, api_key: str, empty_ledger: None) -> Ask:
    return asking(client, api_key)


def archive(steps: list[Any]) -> tuple[list[Written], int, bool]:
    """All that was written, the last slot, and whether there ever was a filter."""
    forget_all()
    written: list[Written] = []
    set_now: set[Any] = set()
    slot, has_filters = FIRST, False
    record_slots([block(slot)], source="stream", now=NOW)
    for switched, distance, state in steps:
        if switched is not None:
            has_filters = True
            set_now ^= {switched}
            if switched == "account":
                filters.filter_account(Pubkey(key(1)), filtered=switched in set_now)
            else:
                filters.filter_owner(Pubkey(switched), filtered=switched in set_now)
        parent, slot = slot, slot + distance
        writes = []
        if state is not None:
            lamports, owner, data = state
            writes = [write(1, signature(slot, 0), lamports=lamports, owner=owner, data=data)]
            written.append(Written(slot, *state))
        record_slots([block(slot, parent, writes)], source="stream", now=NOW)
    return written, slot, has_filters


def changes(written: list[Written], first: int, last: int) -> list[Any]:
    """Slot, lamports, owner and hash of each, and whether the data is other than before."""
    found = []
    data = b""
    for each in written:
        if first <= each.slot <= last:
            digest = hashlib.sha256(each.data).hexdigest()
            found.append((each.slot, each.lamports, text(each.owner), digest, each.data != data))
        data = each.data
    return found[::-1]


def at(written: list[Written], slot: int) -> Any:
    """Slot and lamports of the account, None where it is not there."""
    there = [each for each in written if each.slot <= slot]
    return (there[-1].slot, there[-1].lamports) if there and there[-1].lamports else None


@SETTINGS
@given(st.lists(_steps, min_size=1, max_size=9), st.data())
def test_what_lacks_something_says_that_it_is_filtered(
    ask: Ask, steps: list[Any], data: st.DataObject
) -> None:
    with transaction.atomic():
        written, newest, has_filters = archive(steps)
        slots = st.integers(FIRST, newest)
        ranges = [sorted((data.draw(slots), data.draw(slots))) for _ in range(4)]
        questions = [
            ("getAccountChanges", ALICE, {"fromSlot": first, "toSlot": last})
            for first, last in ranges
        ]
        questions += [("getAccountInfo", ALICE, {"slot": last}) for _, last in ranges]
        answers = [answer["result"] for answer in ask(questions)]
        for (first, last), page, account in zip(ranges, answers[:4], answers[4:], strict=True):
            found = [tuple(entry[name] for name in _TOLD) for entry in page["value"]["changes"]]
            reason = page["context"].get("reason")
            assert reason == "filtered" or found == changes(written, first, last)
            value = account["value"]
            state = None if value is None else (value["rewindSlot"], value["lamports"])
            assert account["context"].get("reason") == "filtered" or state == at(written, last)
            assert has_filters or reason is None
        transaction.set_rollback(True)


_TOLD = ("slot", "lamports", "owner", "dataHash", "dataChanged")
