"""A signature that is stored in two slots: pages of an address end, and leave no signature out."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from chain.blocks import SlotRecord
from chain.encodings import b58encode
from historical.recording.services.recording import record_blocks
from tests.conftest import Rpc
from tests.examples import examples

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, seal

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("empty_ledger", "empty_redis"),
]
ADDRESS = ACCOUNTS[0]


def made_chain(chance: random.Random) -> list[SlotRecord]:
    """Blocks of three ranges of 64 slots; some transactions are in two or three of them."""
    slots = sorted(chance.sample(range(1, 190), 12))
    blocks = []
    for slot, parent in zip(slots, [0, *slots], strict=False):
        blocks.append(made_block(slot, parent, transactions=chance.randrange(5), seed=7))
    for _ in range(chance.randrange(1, 8)):
        first, *others = chance.sample(range(len(blocks)), chance.choice([2, 2, 3]))
        if not blocks[first].transactions:
            continue
        twice = chance.choice(blocks[first].transactions)
        for other in others:
            entries = list(blocks[other].transactions)
            if twice.signature not in {each.signature for each in entries}:
                entries.insert(chance.randrange(len(entries) + 1), twice)
            blocks[other] = replace(blocks[other], transactions=entries)
    return blocks


def walk(rpc: Rpc, limit: int, most: int) -> list[dict[str, Any]]:
    """Every page of the address, the newest first."""
    found: list[dict[str, Any]] = []
    config: dict[str, Any] = {"limit": limit}
    for _ in range(most + 2):
        page = rpc(HISTORICAL, "getSignaturesForAddress", b58encode(ADDRESS), config)["result"]
        found += page
        if len(page) < limit:
            return found
        config["before"] = page[-1]["signature"]
    raise AssertionError("the pages do not end")


def check(rpc: Rpc, blocks: list[SlotRecord], limits: list[int]) -> None:
    own = [
        (block.slot, index, b58encode(each.signature))
        for block in reversed(blocks)
        for index, each in reversed([*enumerate(block.transactions)])
        if ADDRESS in each.account_keys
    ]
    times = Counter(signature for _, _, signature in own)
    for limit in limits:
        found = [
            (each["slot"], each["transactionIndex"], each["signature"])
            for each in walk(rpc, limit, len(own))
        ]
        assert found == sorted(set(found), reverse=True), "in order, each once"
        assert set(found) <= set(own)
        assert {each[2] for each in found} == set(times)
        assert [each for each in found if times[each[2]] == 1] == [
            each for each in own if times[each[2]] == 1
        ]


@pytest.mark.parametrize("seed", range(examples(12)))
def test_pages_end_and_leave_nothing_out(rpc: Rpc, seed: int) -> None:
    chance = random.Random(seed)
    blocks = made_chain(chance)
    record_blocks(blocks, now=NOW)
    check(rpc, blocks, [1, 2, 3, 5])
    record_blocks([made_block(1_000, blocks[-1].slot, transactions=0, seed=7)], now=NOW)
    for steps in (chance.randrange(1, 6), 10_000):
        seal(64, most=steps)
        check(rpc, blocks, [1, 2, 3, 5])
