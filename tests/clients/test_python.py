"""The PyPI client `solana` reads the ledger; solders makes typed objects of every answer."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from solana.exceptions import SolanaRpcException
from solana.rpc.async_api import AsyncClient
from solana.rpc.core import RPCException
from solana.rpc.jsonrpc import JsonRpcRequest, SolanaJsonRpcError
from solders.pubkey import Pubkey
from solders.rpc.errors import SlotSkippedMessage, UnsupportedTransactionVersionMessage
from solders.rpc.responses import GetBlockResp
from solders.signature import Signature
from solders.transaction_status import TransactionConfirmationStatus, TransactionDetails

from tests.patience import PATIENCE_SECONDS

from .service import Service
from .sources import (
    ABSENT,
    LEGACY,
    MADE,
    MODERN,
    RANGE,
    SKIPPED,
    TOKEN_PROGRAM,
    legacy_block,
    modern_block,
    signatures_of,
)

T = TypeVar("T")
Ask = Callable[[Callable[[AsyncClient], Coroutine[Any, Any, T]]], T]


def answered(question: Coroutine[Any, Any, Any]) -> Any:
    """What it answers, asked on a thread of its own: a browser that an earlier test drove leaves
    an event loop running on this one.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, question).result()


@pytest.fixture(scope="module")
def ask(ledger: Service) -> Ask[Any]:
    """`ask(lambda client: client.get_slot())` → the client's typed answer."""

    async def run(question: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T:
        headers = {"Authorization": ledger.key}
        async with AsyncClient(
            ledger.url, extra_headers=headers, timeout=PATIENCE_SECONDS
        ) as client:
            return await question(client)

    return lambda question: answered(run(question))


def typed(block: dict[str, Any]) -> Any:
    answer = GetBlockResp.from_json(json.dumps({"jsonrpc": "2.0", "id": 0, "result": block}))
    assert isinstance(answer, GetBlockResp), answer
    return answer.value


def test_the_bounds_of_the_ledger(ask: Ask[Any]) -> None:
    assert ask(lambda client: client.get_slot()).value == MADE
    assert ask(lambda client: client.get_first_available_block()).value == RANGE[0]


@pytest.mark.parametrize("encoding", ["json", "base64", "jsonParsed"])
def test_a_block_is_the_same_object_as_its_source(
    ask: Ask[Any], blocks: Path, encoding: str
) -> None:
    answer = ask(lambda client: client.get_block(LEGACY, encoding))
    assert answer.value == typed(legacy_block(blocks, encoding))


def test_a_block_with_versioned_transactions_is_the_same_object_as_its_source(
    ask: Ask[Any], blocks: Path
) -> None:
    answer = ask(
        lambda client: client.get_block(MODERN, "base64", max_supported_transaction_version=0)
    )
    assert answer.value == typed(modern_block(blocks))


@pytest.mark.parametrize("encoding", ["json", "jsonParsed"])
def test_a_modern_block_reads_in_the_encodings_its_source_does_not_have(
    ask: Ask[Any], blocks: Path, encoding: str
) -> None:
    answer = ask(
        lambda client: client.get_block(MODERN, encoding, max_supported_transaction_version=0)
    )
    wires = [entry.transaction for entry in typed(modern_block(blocks)).transactions]
    assert [entry.transaction.signatures for entry in answer.value.transactions] == [
        wire.signatures for wire in wires
    ]


def test_a_block_without_transactions_and_one_of_signatures_alone(
    ask: Ask[Any], blocks: Path
) -> None:
    source = typed(legacy_block(blocks, "json"))
    bare = ask(
        lambda client: client.get_block(
            LEGACY, transaction_details=TransactionDetails.None_, rewards=False
        )
    ).value
    assert (bare.transactions, bare.signatures, bare.rewards) == (None, None, None)
    assert bare.blockhash == source.blockhash
    listed = ask(
        lambda client: client.get_block(LEGACY, transaction_details=TransactionDetails.Signatures)
    ).value
    assert listed.signatures == [e.transaction.signatures[0] for e in source.transactions]


@pytest.mark.parametrize("encoding", ["json", "base64", "jsonParsed"])
def test_a_transaction_is_the_same_object_as_in_its_source(
    ask: Ask[Any], blocks: Path, encoding: str
) -> None:
    signatures = [
        e.transaction.signatures[0] for e in typed(legacy_block(blocks, "json")).transactions
    ]
    source = typed(legacy_block(blocks, encoding))

    async def all_of(client: AsyncClient) -> list[Any]:
        return [(await client.get_transaction(each, encoding)).value for each in signatures]

    answers = ask(all_of)
    assert [each.transaction.transaction for each in answers] == [
        each.transaction for each in source.transactions
    ]
    assert [each.transaction.meta for each in answers] == [
        each.meta for each in source.transactions
    ]
    assert {(each.slot, each.block_time) for each in answers} == {(LEGACY, source.block_time)}


@pytest.mark.parametrize("encoding", ["base58", "base64"])
def test_a_versioned_transaction_decodes_to_the_wire_transaction_of_its_source(
    ask: Ask[Any], blocks: Path, encoding: str
) -> None:
    entry = next(e for e in typed(modern_block(blocks)).transactions if e.version == 0)
    signature = entry.transaction.signatures[0]
    answer = ask(
        lambda client: client.get_transaction(
            signature, encoding, max_supported_transaction_version=0
        )
    ).value.transaction
    assert answer.transaction == entry.transaction
    assert (answer.meta, answer.version) == (entry.meta, entry.version)


def test_a_transaction_that_the_ledger_does_not_have_is_none(ask: Ask[Any]) -> None:
    nowhere = Signature.from_string(ABSENT)
    assert ask(lambda client: client.get_transaction(nowhere)).value is None


def test_statuses_tell_success_failure_and_absence(ask: Ask[Any], blocks: Path) -> None:
    entries = typed(modern_block(blocks)).transactions
    failed = next(entry for entry in entries if entry.meta.err is not None)
    fine = next(entry for entry in entries if entry.meta.err is None)
    asked = [each.transaction.signatures[0] for each in (failed, fine)]
    asked.append(Signature.from_string(ABSENT))
    answer = ask(
        lambda client: client.get_signature_statuses(asked, search_transaction_history=True)
    )
    assert answer.context.slot == MADE
    assert answer.value[2] is None
    for status, entry in zip(answer.value[:2], (failed, fine), strict=True):
        assert (status.slot, status.err, status.confirmations) == (MODERN, entry.meta.err, None)
        assert status.confirmation_status == TransactionConfirmationStatus.Finalized


def test_an_addresss_signatures_page_by_page(ask: Ask[Any], blocks: Path) -> None:
    expected = signatures_of(TOKEN_PROGRAM, modern_block(blocks))
    assert len(expected) > 100
    address = Pubkey.from_string(TOKEN_PROGRAM)

    async def pages(client: AsyncClient) -> list[Any]:
        found: list[Any] = []
        while len(found) < len(expected):
            before = found[-1].signature if found else None
            page = (await client.get_signatures_for_address(address, before, limit=37)).value
            assert page
            found += page
        return found[: len(expected)]

    found = ask(pages)
    assert [str(each.signature) for each in found] == expected
    assert {each.slot for each in found} == {MODERN}
    until = ask(lambda client: client.get_signatures_for_address(address, until=found[3].signature))
    assert [str(each.signature) for each in until.value] == expected[:3]


def test_the_slots_that_hold_a_block(ask: Ask[Any]) -> None:
    between = ask(lambda client: client.get_blocks(*RANGE)).value
    assert len(between) == 88 and SKIPPED not in between
    assert ask(lambda client: client.get_blocks(RANGE[0])).value == between

    request = JsonRpcRequest(method="getBlocksWithLimit", params=[SKIPPED, 2])
    limited = ask(lambda client: client.send_rpc_request(request, list[int]))
    assert limited == [55065033, 55065034]


def test_a_blocks_time(ask: Ask[Any], blocks: Path) -> None:
    expected = modern_block(blocks)["blockTime"]
    assert ask(lambda client: client.get_block_time(MODERN)).value == expected


def test_refusals_are_the_clients_own_typed_errors(ask: Ask[Any]) -> None:
    with pytest.raises(RPCException) as skipped:
        ask(lambda client: client.get_block(SKIPPED))
    assert isinstance(skipped.value.args[0], SlotSkippedMessage)
    with pytest.raises(RPCException) as unsupported:
        ask(lambda client: client.get_block(MODERN))
    assert isinstance(unsupported.value.args[0], UnsupportedTransactionVersionMessage)

    request = JsonRpcRequest(method="getBlock", params=["not a slot"])
    with pytest.raises(SolanaJsonRpcError, match="expected u64") as invalid:
        ask(lambda client: client.send_rpc_request(request, dict))
    assert invalid.value.name == "INVALID_PARAMS"
    assert invalid.value.data is not None
    assert invalid.value.data["reason"] == "invalid_params"


def test_the_key_may_stand_in_the_url_and_a_wrong_one_is_refused(ledger: Service) -> None:
    async def newest(url: str) -> int:
        async with AsyncClient(url) as client:
            return (await client.get_slot()).value

    assert answered(newest(f"{ledger.url}?api_key={ledger.key}")) == MADE
    with pytest.raises(SolanaRpcException) as refused:
        answered(newest(f"{ledger.url}?api_key=wrong"))
    assert "401" in str(refused.value.__cause__)
