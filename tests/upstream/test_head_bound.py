"""How far a chain can have come: real chains are believed whatever happened, lies are not."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from upstream.head_bound import MOST_SLOT, HeadBound, clock

SLOT_SECONDS = 0.4


def follow(bound: HeadBound, first: int, slots: int, at: float, *, pace: float) -> float:
    """A live chain of so many slots, each told thrice; the time after it."""
    for slot in range(first, first + slots):
        for told in (slot, slot - 1, slot - 32):
            assert bound.hear(max(0, told), at), f"slot {told} of an honest chain"
        at += pace
    return at


def live(first: int = 1_000_000, *, slots: int = 100) -> tuple[HeadBound, int, float]:
    """A bound that followed a chain, its head and the time."""
    bound = HeadBound()
    bound.expect(first, 0.0)
    now = follow(bound, first, slots, 0.0, pace=SLOT_SECONDS)
    return bound, first + slots - 1, now


@pytest.mark.parametrize("lie", [2**63 - 5, 2**64 - 1, MOST_SLOT, MOST_SLOT + 1, 1_010_000])
def test_a_lie_is_not_believed_and_the_chain_goes_on(lie: int) -> None:
    bound, head, now = live()
    assert not bound.hear(lie, now)
    assert bound.head == head
    follow(bound, head + 1, 50, now, pace=SLOT_SECONDS)
    assert bound.head == head + 50


def test_any_number_of_lies_moves_a_live_bound_no_further_than_its_margin() -> None:
    bound, head, now = live()
    believed = [slot for slot in range(head + 1, head + 300_000) if bound.hear(slot, now)]
    assert len(believed) < 1_500
    # The chain that goes on is believed, and takes the head back to where it is.
    follow(bound, head + 1, 100, now, pace=SLOT_SECONDS)
    assert bound.head == head + 100


@pytest.mark.parametrize("seconds", [1.0, 60.0, 3_600.0, 86_400.0, 30 * 86_400.0])
@pytest.mark.parametrize("slot_seconds", [0.01, 0.2, 0.4, 1.0])
def test_who_was_away_believes_the_real_head(seconds: float, slot_seconds: float) -> None:
    bound, head, now = live()
    assert bound.hear(head + int(seconds / slot_seconds), now + seconds)


def test_a_replay_is_as_fast_as_the_server_and_its_head_is_the_expected_one() -> None:
    bound, head, now = live()
    now += 86_400.0
    newest = head + int(86_400.0 / SLOT_SECONDS)
    bound.expect(newest, now)
    for slot in range(head, newest, 7):
        now += 0.000_01
        assert bound.hear(slot, now)
        assert bound.head >= slot
    assert not bound.hear(newest + 10_000, now)
    now = follow(bound, newest, 30, now, pace=SLOT_SECONDS)
    assert not bound.hear(newest + 5_000, now)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32))
def test_replays_that_stop_and_go_are_believed(seed: int) -> None:
    chance = random.Random(seed)
    bound = HeadBound()
    newest = 5_000_000
    bound.expect(newest, 0.0)
    slot, now = newest - 200_000, 0.0
    while slot < newest:
        burst = chance.choice([1, 10, 1_000, 20_000])
        for each in range(slot, slot + burst, max(1, burst // 50)):
            assert bound.hear(min(each, newest), now)
        slot += burst
        now += chance.choice([0.0, 0.001, 1.0, 3.0])


def test_a_node_that_tells_too_low_a_head_is_outlived() -> None:
    bound = HeadBound()
    bound.expect(7, 0.0)
    believed, now = [], 0.0
    for slot in range(1_000_000, 1_000_100):
        if bound.hear(slot, now):
            believed.append(slot)
        now += SLOT_SECONDS
    # After a quarter of a minute with nothing else.
    assert believed == list(range(believed[0], 1_000_100))
    assert believed[0] - 1_000_000 <= 16 / SLOT_SECONDS


def test_a_bound_that_does_not_give_way_is_contradicted_until_it_is_told_better() -> None:
    bound, now = HeadBound(gives_way=False), 0.0
    bound.expect(1_000_000, now)
    for slot in range(2_000_000, 2_000_100):
        now += SLOT_SECONDS
        assert not bound.hear(slot, now)
    assert bound.is_contradicted(now)
    bound.expect(2_000_100, now)
    assert not bound.is_contradicted(now)
    follow(bound, 2_000_100, 10, now, pace=SLOT_SECONDS)


def test_lies_beside_a_chain_that_goes_on_are_never_the_majority() -> None:
    bound, head, now = live()
    for step in range(200):
        for lie in range(10):
            assert not bound.hear(10**9 + 10 * step + lie, now)
        now = follow(bound, head + 1 + step, 1, now, pace=SLOT_SECONDS)
    assert bound.head == head + 200


def test_what_was_believed_for_a_lie_is_corrected_by_the_chain() -> None:
    bound = HeadBound()
    assert bound.hear(10**9, 0.0)  # nothing was known
    now = follow(bound, 1_000, 100, 0.0, pace=SLOT_SECONDS)
    assert bound.head == 1_099
    now = follow(bound, 1_100, 2_000, now, pace=SLOT_SECONDS)
    assert bound.ceiling(now) < 10_000


def test_with_nobody_to_ask_a_bound_is_found_in_time() -> None:
    bound = HeadBound()
    bound.expect(None, 0.0)
    assert bound.admits(10**9, 0.0) and not bound.admits(2**63, 0.0)
    now = follow(bound, 1_000, 1_600, 0.0, pace=SLOT_SECONDS)
    assert not bound.admits(10**9, now)


@given(
    st.lists(st.tuples(st.integers(0, 2**64), st.floats(0, 1e6)), max_size=200),
    st.integers(0, 2**64) | st.none(),
)
def test_whatever_it_is_told_it_has_a_head_that_a_chain_can_have(
    told: list[tuple[int, float]], expected: int | None
) -> None:
    bound = HeadBound()
    bound.expect(expected, 0.0)
    now = 0.0
    for slot, passed in told:
        now += passed
        assert bound.hear(slot, now) <= (slot <= MOST_SLOT)
        assert 0 <= bound.head <= MOST_SLOT


def test_the_clock_does_not_go_back() -> None:
    assert clock() <= clock()
