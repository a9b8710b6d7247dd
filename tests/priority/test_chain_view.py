"""The lander's view of the chain: which slot it is, whoever says so."""

import pytest

from priority.chain_events import KEPT_BLOCKHASHES, SlotMoved
from priority.lander.chain_view import Chain

SLOT_SECONDS = 0.4


def go_on(chain: Chain, first: int, slots: int, now: float) -> float:
    """A chain of so many slots is told; the time after it."""
    for slot in range(first, first + slots):
        chain.moved(SlotMoved(slot, "began"), now)
        now += SLOT_SECONDS
    return now


@pytest.mark.parametrize("lie", [2**63, 2**40, 10**9, 10_000])
def test_a_slot_that_cannot_have_been_reached_is_not_believed(lie: int) -> None:
    chain = Chain()
    now = go_on(chain, 1_000, 30, 0.0)
    chain.hear(lie, now)
    chain.moved(SlotMoved(lie, "processed"), now)
    assert chain.slot == 1_029
    go_on(chain, 1_030, 5, now)
    assert chain.slot == 1_034
    assert chain.slot_seconds == pytest.approx(SLOT_SECONDS)


def test_a_first_word_that_nobody_stands_by_is_forgotten() -> None:
    chain = Chain()
    chain.hear(10**9, 0.0)
    assert chain.slot == 10**9
    now = go_on(chain, 1_000, 100, 1.0)
    assert chain.slot == 1_099
    assert chain.slot_now(now) == 1_100
    assert chain.slot_at(now) == 1_099


def test_the_slot_of_a_chain_that_was_not_heard_for_a_day_is_believed() -> None:
    chain = Chain()
    now = go_on(chain, 1_000, 30, 0.0)
    chain.hear(1_030 + 216_000, now + 86_400)
    assert chain.slot == 217_030


def test_the_blockhashes_of_the_oldest_blocks_are_forgotten_first() -> None:
    """Redis names them in any order."""
    chain = Chain()
    heights = range(1, KEPT_BLOCKHASHES + 101)
    chain.learn({height.to_bytes(32, "big"): height for height in reversed(heights)})
    known = [height for height in heights if chain.knows(height.to_bytes(32, "big"))]
    assert known == list(heights[100:])
