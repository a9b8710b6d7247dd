"""What nodes of other versions answer otherwise."""

from dataclasses import replace
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chain.blocks import TransactionRecord
from chain.encodings import b58decode
from chain.explained.programs import MEMOS
from chain.node_version import BASE58_REFUSED
from chain.transactions import Instruction, encode_wire
from historical.recording.services.recording import record_blocks
from tests.conftest import Rpc

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, seal

pytestmark = pytest.mark.django_db
ABSENT = "1" * 64


@pytest.fixture
def some_blocks(empty_ledger: None) -> None:
    blocks = [made_block(slot, slot - 1, transactions=5, seed=1) for slot in range(1_000, 1_040)]
    record_blocks(blocks, now=NOW)


@pytest.mark.parametrize("encoding", ["base58", "binary"])
@pytest.mark.parametrize("version", [1, 255])
def test_base58_is_refused_before_anything_is_looked_up(
    rpc: Rpc, some_blocks: None, encoding: str, version: int
) -> None:
    config = {"encoding": encoding, "maxSupportedTransactionVersion": version}
    for method, first, more in (
        ("getTransaction", ABSENT, {}),
        ("getTransaction", ABSENT, {"commitment": "processed"}),
        ("getBlock", 0, {}),
        ("getBlock", 1_000, {"transactionDetails": "none"}),
        ("getTransactionsForAddress", "1" * 32, {}),
    ):
        error = rpc(HISTORICAL, method, first, {**config, **more})["error"]
        assert (error["code"], error["message"]) == (-32602, BASE58_REFUSED)
        assert error["data"] == {"reason": "base58_unsupported", "maximum": 0, "found": version}


def test_base58_is_served_to_who_reads_no_version_1(rpc: Rpc, some_blocks: None) -> None:
    for more in ({}, {"maxSupportedTransactionVersion": 0}):
        config = {"encoding": "base58", **more}
        assert rpc(HISTORICAL, "getTransaction", ABSENT, config)["result"] is None
        found = rpc(HISTORICAL, "getBlock", 1_000, {**config, "transactionDetails": "none"})
        assert found["result"]["parentSlot"] == 999


def test_a_node_of_before_reads_base58_and_awaits_no_slot(
    rpc: Rpc, some_blocks: None, settings: Any
) -> None:
    ahead = {"minContextSlot": 5_000}
    for method, first in (("getSignatureStatuses", [ABSENT]), ("getTransaction", ABSENT)):
        assert rpc(HISTORICAL, method, first, ahead)["error"]["code"] == -32016
    settings.LEDGER_API_VERSION = "4.2.2"
    statuses = rpc(HISTORICAL, "getSignatureStatuses", [ABSENT], ahead)["result"]
    assert statuses == {"context": {"slot": 1_039, "apiVersion": "4.2.2"}, "value": [None]}
    config = {**ahead, "encoding": "base58", "maxSupportedTransactionVersion": 1}
    assert rpc(HISTORICAL, "getTransaction", ABSENT, config)["result"] is None


def places(rpc: Rpc) -> list[tuple[str, int, int]]:
    """Signature, slot and place of each entry of an address's list."""
    address = str(Pubkey(ACCOUNTS[0]))
    listed = rpc(HISTORICAL, "getSignaturesForAddress", address, {"limit": 1_000})["result"]
    pages = rpc(HISTORICAL, "getTransactionsForAddress", address, {"limit": 1_000})["result"]
    assert pages["data"] == listed
    return [(each["signature"], each["slot"], each["transactionIndex"]) for each in listed]


def test_lists_have_the_place_in_the_block_before_and_after_sealing(
    rpc: Rpc, some_blocks: None
) -> None:
    before = places(rpc)
    assert len(before) > 40
    whole = {"maxSupportedTransactionVersion": 0}
    for signature, slot, index in before[::7]:
        found = rpc(HISTORICAL, "getTransaction", signature, whole)["result"]
        assert (found["slot"], found["transactionIndex"]) == (slot, index)
    assert seal(20)
    assert places(rpc) == before


def test_the_end_of_a_range_is_cut_off_before_the_range_is_judged(
    rpc: Rpc, some_blocks: None
) -> None:
    every = list(range(1_000, 1_040))
    for end in (1_039, 10_000_000, 2**64 - 1):
        assert rpc(HISTORICAL, "getBlocks", 1_000, end)["result"] == every
    assert rpc(HISTORICAL, "getBlocks", 2_000, 10_000_000)["result"] == []
    record_blocks([made_block(900_000, 899_999, transactions=1, seed=1)], now=NOW)
    error = rpc(HISTORICAL, "getBlocks", 1_000, 2**64 - 1)["error"]
    assert (error["code"], error["message"]) == (-32602, "Slot range too large; max 500000")


def test_booleans_are_not_null_where_the_node_has_no_option(rpc: Rpc, some_blocks: None) -> None:
    config = {"searchTransactionHistory": None}
    error = rpc(HISTORICAL, "getSignatureStatuses", [ABSENT], config)["error"]
    assert error["message"] == "Invalid params: invalid type: null, expected a boolean."
    for known in ({}, {"searchTransactionHistory": False}, {"unknown": 1}):
        assert rpc(HISTORICAL, "getSignatureStatuses", [ABSENT], known)["result"]["value"] == [None]


def test_memos_of_each_program_are_listed(rpc: Rpc, some_blocks: None) -> None:
    block = made_block(1_040, 1_039, transactions=1, seed=1)
    (record,) = block.transactions
    wire = record.decoded
    programs = [b58decode(each) for each in MEMOS]
    first = len(wire.account_keys)
    wires = replace(
        wire,
        account_keys=[*wire.account_keys, *programs],
        instructions=[Instruction(first + each, b"", b"hi") for each in range(len(programs))],
    )
    record_blocks(
        [replace(block, transactions=[TransactionRecord(encode_wire(wires), record.meta)])], now=NOW
    )
    for program in MEMOS:
        (listed,) = rpc(HISTORICAL, "getSignaturesForAddress", program, {"limit": 1})["result"]
        assert (listed["slot"], listed["memo"]) == (1_040, "[2] hi; [2] hi; [2] hi")
