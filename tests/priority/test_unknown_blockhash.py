"""What proves that a blockhash is of no block, and what does not."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from priority.chain_events import BlockMade
from priority.lander.store.chain_events import publish_events
from priority.simulation.services.unknown_blockhash import is_of_no_block

pytestmark = pytest.mark.usefixtures("empty_redis")
NODE_AT = 100


def blockhash(height: int) -> bytes:
    return sha256(height.to_bytes(8)).digest()


def told(*heights: int) -> None:
    """The stream tells of blocks of these heights."""
    for height in heights:
        publish_events([BlockMade(height + 7, height + 6, blockhash(height), height)], now=1.0)


def found(known: Sequence[int], meanwhile: Sequence[int], of: int = 9_999) -> bool:
    """Asked when the stream told of `known`, and while it tells the others."""
    told(*known)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(is_of_no_block, blockhash(of), newest=blockhash(NODE_AT))
        told(*meanwhile)
        return asked.result()


def test_blocks_without_a_gap_behind_what_the_node_knew_prove_it(slow_chain: None) -> None:
    told(98, 99, 100)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(is_of_no_block, blockhash(9_999), newest=blockhash(NODE_AT))
        height = 100
        while not asked.done():
            height += 1
            told(height)
            time.sleep(0.02)
        assert asked.result()


@pytest.mark.parametrize(
    ("known", "meanwhile", "of"),
    [
        ([], [], 9_999),  # nothing is followed
        ([99, 100], [101, 102], 9_999),  # not far enough yet, and then the stream stands still
        ([99, 100], [101, 103, 104, 105, 106, 107], 9_999),  # a gap
        ([97, 98], [99], 9_999),  # the stream lags behind the node
        ([99, 100], range(101, 110), 102),  # newer than what the node knew
        ([99, 100, 101], [], 101),  # newer than what the node knew, and here already
    ],
)
def test_what_proves_nothing(known: list[int], meanwhile: Sequence[int], of: int) -> None:
    assert not found(known, meanwhile, of)


def test_no_more_than_a_few_threads_wait() -> None:
    told(99, 100)
    with ThreadPoolExecutor(5) as pool:
        asked = [
            pool.submit(is_of_no_block, blockhash(of), newest=blockhash(NODE_AT))
            for of in range(9_000, 9_005)
        ]
        told(*range(101, 110))
        assert sum(each.result() for each in asked) <= 2
