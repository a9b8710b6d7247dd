"""Epochs, compared with Solana's own arithmetic."""

import pytest
from solders.epoch_schedule import EpochSchedule as TheirSchedule

from chain.epochs import EpochSchedule


@pytest.mark.parametrize(
    "theirs",
    [
        TheirSchedule(432_000),
        TheirSchedule.without_warmup(),
        TheirSchedule.custom(432_000, 432_000, True),
        TheirSchedule.custom(8_192, 8_192, True),
        TheirSchedule.custom(8_640, 8_640, False),
    ],
    ids=str,
)
def test_a_slot_is_in_the_epoch_that_the_chain_says(theirs: TheirSchedule) -> None:
    ours = EpochSchedule(
        theirs.slots_per_epoch, theirs.first_normal_epoch, theirs.first_normal_slot
    )
    edge = theirs.first_normal_slot
    slots = {0, 1, 31, 32, 33, 95, 96, 97, 8_639, 8_640, 432_000, 10**9, edge, edge + 1}
    for slot in slots | {max(edge - 1, 0)}:
        epoch = theirs.get_epoch(slot)
        assert ours.epoch_of(slot) == epoch
        assert ours.slots_of(epoch) == (
            theirs.get_first_slot_in_epoch(epoch),
            theirs.get_last_slot_in_epoch(epoch),
        )
