"""Small slots, made up: account writes, the transactions that made them, and their links."""

from collections.abc import Sequence
from typing import Any

from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord, TransactionRecord
from chain.units import U64_MAX, Slot

PROGRAM = bytes([9]) * 32
# `context.completeness` of what rests on all that happened.
WHOLE = {"status": "whole", "causes": []}


def key(number: int) -> bytes:
    """A pubkey that sorts anywhere."""
    return (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8) + number.to_bytes(24)


def signature(slot: int, index: int) -> bytes:
    return slot.to_bytes(32) + index.to_bytes(32)


def wire(slot: int, index: int) -> bytes:
    """A legacy transaction without instructions: its signature, one account, and a blockhash."""
    payer, recent = index.to_bytes(32), slot.to_bytes(32)
    return b"\x01" + signature(slot, index) + b"\x01\0\0" + b"\x01" + payer + recent + b"\0"


def write(
    account: int | bytes,
    by: bytes | None = None,
    *,
    version: int = 0,
    lamports: int = 1_000,
    owner: bytes = PROGRAM,
    data: bytes = b"",
    rent_epoch: int = U64_MAX,
) -> AccountWrite:
    pubkey = key(account) if isinstance(account, int) else account
    return AccountWrite(pubkey, lamports, owner, data, False, rent_epoch, version, by)


def block(
    slot: int,
    parent: int | None = None,
    writes: Sequence[AccountWrite] | None = (),
    *,
    transactions: int = 4,
    fork: int = 0,
    granularity: Granularity = Granularity.WRITE,
) -> SlotRecord:
    """A slot of that many transactions; another `fork`, another blockhash."""
    parent = max(slot - 1, 0) if parent is None else parent
    entries = [TransactionRecord(wire(slot, index), None) for index in range(transactions)]
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(parent),
        blockhash=blockhash(slot, fork),
        previous_blockhash=blockhash(parent),
        block_time=None,
        block_height=None,
        transactions=entries,
        account_writes=None if writes is None else list(writes),
        granularity=granularity,
    )


def blockhash(slot: int, fork: int = 0) -> str:
    return str(Hash(fork.to_bytes(8) + (slot % 2**64).to_bytes(24)))


def rows() -> list[tuple[Any, ...]]:
    """Every change: pubkey, slot, position, lamports, kind, data; in the order of the key."""
    from rewind.models import AccountChange

    found = AccountChange.objects.order_by("pubkey", "slot", "position")
    return [
        (bytes(row.pubkey), row.slot, row.position, row.lamports, row.kind, bytes(row.data))
        for row in found
    ]
