"""How much of a delegation counts, as the crate solana-stake-interface 5.1.1 has it."""

import json
import struct
from pathlib import Path

import pytest

from chain.stake_activation import (
    Activation,
    Delegation,
    Rules,
    activation,
    read_delegation,
    read_history,
)

NEVER = 2**64 - 1
VOTER = bytes(range(32))

# Of each: (stake, activation epoch, deactivation epoch), the epoch, the lower rate's first epoch,
# the first epoch of the history, its (effective, activating, deactivating); the same of the
# delegation, with floats and with integers.
CASES = json.loads(Path(__file__).with_name("stake_activations.json").read_bytes())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_delegation_counts_as_the_cluster_has_it(case):
    (stake, begins, ceases), epoch, lower_from, first, rows, by_floats, by_integers = case
    delegation = Delegation(VOTER, stake, begins, ceases)
    history = {first + place: Activation(*row) for place, row in enumerate(rows)}
    for with_integers, expected in ((False, by_floats), (True, by_integers)):
        assert activation(delegation, epoch, history, Rules(lower_from, with_integers)) == tuple(
            expected
        )


def test_the_sysvar_is_read_by_epoch():
    data = struct.pack("<9Q", 2, 8, 30, 20, 10, 7, 3, 2, 1).ljust(16_392, b"\0")
    assert read_history(data) == {8: Activation(30, 20, 10), 7: Activation(3, 2, 1)}
    assert read_history(bytes(16_392)) == {}
    skipped = struct.pack("<9Q", 2, 8, 30, 20, 10, 6, 3, 2, 1)
    assert read_history(skipped) == {8: Activation(30, 20, 10)}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (struct.pack("<5Q", 2, 8, 30, 20, 10), "shorter than it says"),
        (b"\x01", "shorter than it says"),
    ],
)
def test_what_is_no_history_is_refused(data, fault):
    with pytest.raises(ValueError, match=fault):
        read_history(data)


def state(tag: int, size: int = 200) -> bytes:
    data = struct.pack("<I120x32sQQQ", tag, VOTER, 5, 6, NEVER)
    return data.ljust(size, b"\0")[:size]


def test_only_a_whole_delegated_state_has_a_delegation():
    assert read_delegation(state(2)) == Delegation(VOTER, 5, 6, NEVER)
    assert read_delegation(state(2, 197)) is not None
    for other in (state(2, 196), state(0), state(1), state(3), b"", b"\x02\0\0\0"):
        assert read_delegation(other) is None
