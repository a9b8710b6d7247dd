"""The version 1 transactions that a real validator of 4.4.0 ran, run again: the same outcome."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.units import U64_MAX
from simulator.engine import Engine
from simulator.features import feature_set_of, known_features
from simulator.moment import Moment
from tests.recordings import closed_slots, unwritten_accounts
from upstream.geyser.messages import slot_record

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
    "returnData",
    "computeUnitsConsumed",
    "costUnits",
)


class Found(NamedTuple):
    """A transaction where it stood, and the accounts that it found."""

    slot: SlotRecord
    record: TransactionRecord
    load: Callable[[Pubkey], Account | None]


def test_every_recorded_version_1_transaction_ends_as_it_did(fixtures: Path) -> None:
    recording = fixtures / "agave-4.4.0"
    if not recording.is_dir():
        pytest.skip("there is no recording of 4.4.0")
    engine = Engine()
    # A test validator has every rule on.
    features = feature_set_of(dict.fromkeys(known_features(), 0))
    failed = replayed = 0
    for slot, record, load in found_in(recording):
        transaction = VersionedTransaction.from_bytes(record.wire)
        moment = Moment(slot.slot, Hash.from_string(slot.previous_blockhash), None, features)
        outcome = engine.execute(transaction, load=load, moment=moment)
        told, meta = record.meta or {}, outcome.meta()
        names = [name for name in _COMPARED if name in told]
        assert {name: meta.get(name) for name in names} == {name: told[name] for name in names}
        replayed += 1
        failed += told["err"] is not None
    assert (replayed, failed) == (113, 46)


def found_in(recording: Path) -> Iterator[Found]:
    """Each version 1 transaction, in order."""
    records = [slot_record(closed) for closed in closed_slots(recording)]
    last = max(slot for slot, each in enumerate(records) if _has_version_1(each))
    state = {key: account(write) for key, write in unwritten_accounts(recording, records).items()}
    for slot in records[: last + 1]:
        by_signature: dict[bytes | None, list[AccountWrite]] = {}
        for write in sorted(slot.account_writes or (), key=lambda each: each.write_version):
            by_signature.setdefault(write.signature or None, []).append(write)
        # The slot's own writes of sysvars come first, the others last.
        own = by_signature.pop(None, [])
        apply(state, [each for each in own if Pubkey(each.pubkey) in addresses.SYSVARS])
        for record in slot.transactions:
            if record.decoded.version == 1:
                yield Found(slot, record, loader(state, record))
            apply(state, by_signature.get(record.signature, []))
        apply(state, own)


def loader(
    state: dict[bytes, Account], record: TransactionRecord
) -> Callable[[Pubkey], Account | None]:
    """Accounts as far as they are known; else a wallet of the recorded balance."""
    meta: dict[str, Any] = record.meta or {}
    balances = dict(zip(record.account_keys, meta["preBalances"], strict=True))

    def load(key: Pubkey) -> Account | None:
        held = state.get(bytes(key))
        if held is not None:
            return held if held.lamports else None
        if key in addresses.BUILTINS or key in addresses.SYSVARS:
            return None
        lamports = balances.get(bytes(key), 0)
        return Account(lamports, b"", addresses.SYSTEM, False, U64_MAX) if lamports else None

    return load


def apply(state: dict[bytes, Account], writes: list[AccountWrite]) -> None:
    for write in writes:
        state[write.pubkey] = account(write)


def account(write: AccountWrite) -> Account:
    owner = Pubkey(write.owner)
    return Account(write.lamports, write.data, owner, write.executable, write.rent_epoch)


def _has_version_1(record: SlotRecord) -> bool:
    return any(each.decoded.version == 1 for each in record.transactions)
