"""Version 1 transactions at /priority and /bundle: accepted whole; told where they will fail."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from solders.instruction import Instruction
from solders.message import TransactionConfig
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58encode
from priority.lander.services.active_submissions import active_submission
from priority.lander.services.rows import submission_rows
from priority.lander.store.submissions import insert_submissions
from priority.submissions import Tip, pending_key
from shared_state.redis_client import client
from tests.conftest import Rpc
from tests.priority.odd_nodes import OddNode
from tests.priority.sending import (
    ASKED,
    MINIMUM,
    SENT,
    advance_nonce,
    pay,
    queued,
    result,
    signature,
    signed,
    signed_v1,
    static_address,
    text,
    tip,
)

Door = Callable[..., Any]
pytestmark = pytest.mark.django_db

PROGRAM = Pubkey.new_unique()
NO_SIZE = "it asks for no loadedAccountsDataSizeLimit, and version 1 has no default"
NO_UNITS = "it asks for no computeUnitLimit, and version 1 has no default"
# What is asked for → what the sender is told.
TOLD = {
    "nothing": (TransactionConfig(), NO_SIZE),
    "no size": (TransactionConfig(compute_unit_limit=1_000, priority_fee=9), NO_SIZE),
    "size 0": (
        TransactionConfig(compute_unit_limit=1_000, loaded_accounts_data_size_limit=0),
        NO_SIZE,
    ),
    "no units": (TransactionConfig(loaded_accounts_data_size_limit=1 << 20), NO_UNITS),
    "units 0": (
        TransactionConfig(compute_unit_limit=0, loaded_accounts_data_size_limit=1 << 20),
        NO_UNITS,
    ),
}


def largest(*first: Instruction) -> VersionedTransaction:
    """A transaction of 4,096 bytes with 40 instructions."""
    notes = [Instruction(PROGRAM, os.urandom(60), []) for _ in range(39 - len(first))]
    size = len(bytes(signed_v1(*first, *notes, Instruction(PROGRAM, b"", []))))
    last = Instruction(PROGRAM, os.urandom(4_096 - size), [])
    return signed_v1(*first, *notes, last)


def send(door: Door, transaction: VersionedTransaction) -> Any:
    return door("/priority", "sendTransaction", text(transaction), SENT)


def test_the_largest_one_waits_whole(door: Door) -> None:
    transaction = largest(pay(static_address(), 5), tip())
    assert (len(bytes(transaction)), len(transaction.message.instructions)) == (4_096, 40)
    response = send(door, transaction)
    assert result(response) == signature(transaction)
    assert "X-Advice" not in response.headers
    (entry,) = queued()
    assert entry.wires == [bytes(transaction)]
    assert entry.tip == Tip(bytes(static_address()), MINIMUM, 0, 1)
    assert result(send(door, transaction)) == signature(transaction)
    assert len(queued()) == 1, "it is known, and not queued again"


def test_a_small_one_is_read_from_base58_too(door: Door) -> None:
    transaction = signed_v1(tip())
    response = door(
        "/priority", "sendTransaction", b58encode(bytes(transaction)), {"skipPreflight": True}
    )
    assert result(response) == signature(transaction)


def test_a_nonce_is_seen_in_it(door: Door) -> None:
    transaction = signed_v1(advance_nonce(), tip())
    result(send(door, transaction))
    assert client().ttl(pending_key(bytes(transaction.signatures[0]))) > 300


@pytest.mark.parametrize("case", TOLD)
def test_one_that_asks_for_too_little_is_told_so_and_its_fate_tells_it(
    door: Door, rpc: Rpc, case: str
) -> None:
    config, why = TOLD[case]
    transaction = signed_v1(tip(), config=config)
    response = send(door, transaction)
    assert result(response) == signature(transaction)
    advice = response.headers["X-Advice"]
    assert advice.startswith(f"will_fail: {why}")
    assert "X-Advice" in response.headers["Access-Control-Expose-Headers"]
    (entry,) = queued()
    insert_submissions(submission_rows(active_submission(b"1-0", entry)))
    fate = rpc("/priority", "getTransactionFate", signature(transaction))["result"]
    assert f"will_fail: {fate['willFail']}" == advice
    (other,) = rpc("/priority", "getTransactionFates", [signature(transaction)])["result"]
    assert other["willFail"] == fate["willFail"]


def test_one_without_instructions_needs_no_units(door: Door) -> None:
    config = TransactionConfig(loaded_accounts_data_size_limit=1 << 20)
    bundle = [signed_v1(config=config), signed_v1(tip())]
    response = door("/bundle", "sendBundle", [text(each) for each in bundle])
    assert result(response) == [signature(each) for each in bundle]
    assert "X-Advice" not in response.headers


def test_a_bundle_of_all_versions_is_told_which_of_it_will_fail(door: Door) -> None:
    bundle = [signed(tip()), signed_v1(tip(5), config=TransactionConfig()), largest()]
    response = door("/bundle", "sendBundle", [text(each) for each in bundle])
    assert result(response) == [signature(each) for each in bundle]
    assert response.headers["X-Advice"].startswith(f"will_fail: transaction 1: {NO_SIZE}")
    (entry,) = queued()
    assert entry.wires == [bytes(each) for each in bundle]
    rows = submission_rows(active_submission(b"1-0", entry))
    assert [bool(row.will_fail) for row in rows] == [False, True, False]


def test_what_asks_for_enough_has_no_such_word(door: Door, rpc: Rpc) -> None:
    for transaction in (signed(tip()), signed_v1(tip(), config=ASKED)):
        assert "X-Advice" not in send(door, transaction).headers
        insert_submissions(submission_rows(active_submission(b"1-0", queued()[-1])))
        fate = rpc("/priority", "getTransactionFate", signature(transaction))["result"]
        assert fate["willFail"] is None


@pytest.mark.parametrize("case", [*TOLD, "enough"])
def test_what_is_passed_on_to_the_node_is_told_too(
    node: Callable[..., OddNode], door: Door, case: str
) -> None:
    node(lambda body: (200, json.dumps({"jsonrpc": "2.0", "id": 0, "result": "sent"}).encode()))
    config, why = TOLD.get(case, (ASKED, ""))
    transaction = signed_v1(tip(), config=config)
    for written, encoding in ((text(transaction), "base64"), (b58encode(bytes(transaction)), None)):
        options = {"encoding": encoding, "skipPreflight": True}
        response = door("/", "sendTransaction", written, options)
        assert result(response) == "sent"
        assert response.headers.get("X-Advice", "").startswith(f"will_fail: {why}" if why else "")
        assert ("X-Advice" in response.headers) is bool(why)


@pytest.mark.parametrize(
    "params",
    [
        [],
        ["gQ"],
        [7, {"skipPreflight": True}],
        ["gQ", {"skipPreflight": True}],
        ["gQ", {"skipPreflight": "yes"}],
        ["gQ", {"skipPreflight": True, "encoding": "hex"}],
        ["gQ", {"skipPreflight": True}, None],
        [text(signed_v1(tip(), config=TransactionConfig())), {"encoding": "base64"}],
        [text(signed(tip())), {"encoding": "base64", "skipPreflight": True}],
    ],
)
def test_what_the_node_judges_is_left_to_it(
    node: Callable[..., OddNode], door: Door, params: list[Any]
) -> None:
    node(lambda body: (200, json.dumps({"jsonrpc": "2.0", "id": 0, "result": "sent"}).encode()))
    response = door("/", "sendTransaction", *params)
    assert result(response) == "sent" and "X-Advice" not in response.headers
