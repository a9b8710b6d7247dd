"""The sysvars' bytes against what they stand for, and against the engine's own readers."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.clock import Clock
from solders.epoch_schedule import EpochSchedule
from solders.hash import Hash
from solders.rent import Rent
from solders.slot_history import SlotHistory, SlotHistoryCheck
from solders.stake_history import StakeHistory, StakeHistoryEntry

from chain.rent import rent_exempt
from chain.units import Epoch, Slot, UnixTimestamp
from localnet import sysvars
from tests.examples import examples

BITS = 1_048_576


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.one_of(st.integers(1, 5), st.sampled_from([BITS - 1, BITS, BITS + 7])),
        min_size=1,
        max_size=12,
    )
)
def test_the_history_knows_which_slots_have_a_block(steps: list[int]) -> None:
    data, slot, produced = sysvars.no_slot_history(), 0, set()
    for step in steps:
        data = sysvars.slot_history(data, Slot(slot))
        produced.add(slot)
        last, slot = slot, slot + step
    history = SlotHistory.from_bytes(data)
    assert history.next_slot == last + 1
    oldest = max(0, last + 1 - BITS)
    for known in produced:
        for near in (known - 1, known, known + 1):
            if oldest <= near <= last:
                found = history.check(near) == SlotHistoryCheck.Found
                assert found == (near in produced), near


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(min_size=32, max_size=32))))
def test_lists_keep_the_newest_first_and_their_size(entries: list[tuple[int, bytes]]) -> None:
    hashes, recent = bytes(20_488), bytes(6_008)
    for slot, value in entries:
        hashes = sysvars.slot_hashes(hashes, Slot(slot), value)
        recent = sysvars.recent_blockhashes(recent, Hash(value))
    assert (len(hashes), len(recent)) == (20_488, 6_008)
    newest = entries[::-1]
    count = int.from_bytes(hashes[:8], "little")
    assert count == min(len(entries), 512)
    found = [struct.unpack_from("<Q32s", hashes, 8 + 40 * place) for place in range(count)]
    assert found == newest[:512]
    count = int.from_bytes(recent[:8], "little")
    found = [struct.unpack_from("<32sQ", recent, 8 + 40 * place) for place in range(count)]
    assert found == [(value, 5_000) for _, value in newest[:150]]


def test_full_lists_drop_their_oldest() -> None:
    hashes = bytes(20_488)
    for slot in range(600):
        hashes = sysvars.slot_hashes(hashes, Slot(slot), bytes(32))
    assert int.from_bytes(hashes[:8], "little") == 512
    assert struct.unpack_from("<Q", hashes, 8)[0] == 599
    assert struct.unpack_from("<Q", hashes, 8 + 40 * 511)[0] == 88


def test_the_engine_reads_the_same_values() -> None:
    started, now = UnixTimestamp(1_700_000_000), UnixTimestamp(1_700_000_400)
    data = sysvars.clock(Slot(77), Epoch(2), epoch_started_at=started, now=now)
    assert Clock.from_bytes(data) == Clock(77, started, 2, 3, now)
    assert sysvars.epoch_started_at(data) == started
    schedule = EpochSchedule.from_bytes(sysvars.epoch_schedule(64))
    assert (schedule.slots_per_epoch, schedule.warmup) == (64, False)
    assert schedule.get_epoch_and_slot_index(200) == (3, 8)
    assert Rent.from_bytes(sysvars.rent()).minimum_balance(165) == rent_exempt(165)
    stakes = sysvars.stake_history(bytes(16_392), Epoch(4), 1_000)
    assert StakeHistory.from_bytes(stakes).get(4) == StakeHistoryEntry(1_000, 0, 0)
