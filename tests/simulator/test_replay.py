"""Real transactions of mainnet, run again: the same outcome as on the chain."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.blocks import TransactionRecord
from chain.units import Slot
from simulator import defaults
from simulator.engine import Engine
from simulator.features import feature_set_at
from simulator.moment import Moment
from tests.simulator.test_lookups import table_data
from tests.simulator.world import SOL, plain
from upstream.archives.block_files import open_block_file

# Others need the builds of their time.
_OF_THE_RUNTIME = {str(addresses.SYSTEM), str(addresses.COMPUTE_BUDGET)}
_COMPARED = (
    "err",
    "fee",
    "preBalances",
    "postBalances",
    "logMessages",
    "innerInstructions",
    "preTokenBalances",
    "postTokenBalances",
    "loadedAddresses",
    "computeUnitsConsumed",
)


def test_transfers_of_mainnet_end_as_they_did(fixtures: Path) -> None:
    index = json.loads((fixtures / "blocks" / "replay-candidates.json").read_bytes())
    engine = Engine()
    replayed = 0
    for block in index["blocks"]:
        wanted = {
            case["signature"]
            for case in block["cases"]
            if set(case["programs"]) <= _OF_THE_RUNTIME and case["trial"] == "exact"
        }
        slot = Slot(block["slot"])
        path = fixtures / "blocks" / block["block_file"]
        for previous, record in records(path, slot, wanted):
            outcome = replay(engine, slot, previous, record)
            assert {name: outcome[name] for name in _COMPARED if name in record.meta} == {
                name: record.meta[name] for name in _COMPARED if name in record.meta
            }
            replayed += 1
    if not replayed:
        pytest.fail("none of the candidates was found")


def records(path: Path, slot: Slot, wanted: set[str]) -> Iterator[tuple[Hash, Any]]:
    with open_block_file(path, slot=slot) as blocks:
        for block in blocks:
            for record in block.transactions:
                signature = VersionedTransaction.from_bytes(record.wire).signatures[0]
                if str(signature) in wanted:
                    yield Hash.from_string(block.previous_blockhash), record


def replay(engine: Engine, slot: Slot, previous: Hash, record: TransactionRecord) -> dict[str, Any]:
    transaction = VersionedTransaction.from_bytes(record.wire)
    accounts = accounts_before(transaction, record.meta or {})
    moment = Moment(slot, previous, None, feature_set_at(slot))
    return engine.execute(transaction, load=accounts.get, moment=moment).meta()


def accounts_before(
    transaction: VersionedTransaction, meta: dict[str, Any]
) -> dict[Pubkey, Account]:
    """Accounts derived from the metadata: wallets, and the lookup tables."""
    message = transaction.message
    loaded = meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    writable, readonly = (
        [Pubkey.from_string(key) for key in loaded[kind]] for kind in ("writable", "readonly")
    )
    keys = [*message.account_keys, *writable, *readonly]
    accounts = dict(defaults.programs())
    for key, lamports in zip(keys, meta["preBalances"], strict=True):
        if lamports and key not in accounts:
            accounts[key] = plain(lamports)
    for lookup in message.address_table_lookups if isinstance(message, MessageV0) else []:
        listed = [Pubkey.default()] * 256
        for indexes, found in (
            (lookup.writable_indexes, writable),
            (lookup.readonly_indexes, readonly),
        ):
            for place in indexes:
                listed[place] = found.pop(0)
        table = table_data(listed)
        accounts[lookup.account_key] = plain(SOL, table, addresses.LOOKUP_TABLE)
    for builtin in addresses.BUILTINS:
        accounts.pop(builtin, None)
    return accounts
