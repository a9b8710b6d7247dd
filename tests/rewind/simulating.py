"""A little chain, put into the ledger and the archive, and simulations on it by the public door."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.encodings import b64encode
from chain.units import U64_MAX
from tests.conftest import Rpc
from tests.rewind.conftest import NOW


def stored(records: Sequence[SlotRecord], *, ledger: bool = True) -> None:
    """All of them are archived, and in the ledger too unless told otherwise."""
    from historical.recording.services.recording import record_blocks
    from rewind.recording.services.recording import record_slots

    if ledger:
        record_blocks(list(records), now=NOW)
    record_slots(list(records), source="stream", now=NOW)


def answer(rpc: Rpc, transaction: VersionedTransaction, config: Any) -> dict[str, Any]:
    text = b64encode(bytes(transaction))
    return rpc("/rewind", "simulateHistoricalTransaction", text, config)


def simulated(rpc: Rpc, transaction: VersionedTransaction, **config: Any) -> dict[str, Any]:
    """The value of the answer."""
    found = answer(rpc, transaction, config)
    assert "error" not in found, found["error"]
    value: dict[str, Any] = found["result"]["value"]
    return value


def refused(rpc: Rpc, transaction: VersionedTransaction, **config: Any) -> dict[str, Any]:
    """The error of the answer."""
    error: dict[str, Any] = answer(rpc, transaction, config)["error"]
    return error


def own_place(transaction: VersionedTransaction, position: str = "before") -> dict[str, Any]:
    return {"signature": str(transaction.signatures[0]), "position": position}


def with_write(
    record: SlotRecord,
    pubkey: Pubkey,
    account: Account | None,
    *,
    by: VersionedTransaction | None = None,
) -> SlotRecord:
    """The slot with one write more: of the transaction, or at the slot's end."""
    writes = record.account_writes or []
    version = 1 + max(write.write_version for write in writes)
    held = account or Account(0, b"", Pubkey.default(), False, 0)
    more = AccountWrite(
        bytes(pubkey),
        held.lamports,
        bytes(held.owner),
        held.data,
        held.executable,
        held.rent_epoch,
        version,
        None if by is None else bytes(by.signatures[0]),
    )
    return replace(record, account_writes=[*writes, more])


def call(program: Pubkey, *accounts: Pubkey, data: bytes = b"") -> Instruction:
    """The program, called with accounts that it may read."""
    return Instruction(program, data, [AccountMeta(key, False, False) for key in accounts])


def upgradeable(program: Pubkey, code: bytes, *, slot: int) -> dict[Pubkey, Account]:
    """The accounts of a program that was deployed in the slot: its own, and that of its code."""
    from chain import addresses

    at = code_of(program)
    header = (3).to_bytes(4, "little") + slot.to_bytes(8, "little") + b"\0" + bytes(32)
    pointer = (2).to_bytes(4, "little") + bytes(at)
    return {
        at: Account(10**9, header + code, addresses.LOADER_3, False, U64_MAX),
        program: Account(10**9, pointer, addresses.LOADER_3, True, U64_MAX),
    }


def code_of(program: Pubkey) -> Pubkey:
    from chain import addresses

    return Pubkey.find_program_address([bytes(program)], addresses.LOADER_3)[0]
