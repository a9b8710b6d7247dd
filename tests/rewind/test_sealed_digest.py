"""The digest of sealed changes: any order, any parts, every field."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.sealed.packing.block_codec import Change, Digest
from tests.examples import examples
from tests.rewind.sealed_changes import account, sorted_changes


@given(sorted_changes, st.randoms())
@settings(max_examples=examples(100))
def test_a_digest_is_the_same_in_any_order_and_in_parts(
    changes: list[Change], chance: random.Random
) -> None:
    whole = Digest().add(changes)
    other = list(changes)
    chance.shuffle(other)
    middle = len(other) // 2
    assert Digest().add(other[:middle]) + Digest().add(other[middle:]) == whole
    passing = Digest()
    assert list(passing.over(iter(other))) == other
    assert passing == whole
    assert whole.count == len(changes)
    assert whole.lamports == sum(each.lamports for each in changes) % 2**128


@pytest.mark.parametrize(
    "other",
    [
        {"pubkey": b"\1" * 32},
        {"slot": 9},
        {"position": 9},
        {"kind": 1},
        {"lamports": 9},
        {"rent_epoch": 9},
        {"executable": True},
        {"owner_id": 9},
        {"data": bytes(20)},
        {"data": b""},
    ],
    ids=str,
)
def test_a_digest_sees_every_field(other: dict[str, Any]) -> None:
    before, change, after = account(versions=3, size=20)
    changed = Digest().add([before, change._replace(**other), after])
    assert changed != Digest().add([before, change, after])
