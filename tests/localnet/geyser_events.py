"""Chain events of small made-up slots."""

from typing import Any

from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.transactions import Header, Instruction, Lookup, Wire, encode_wire
from chain.units import Slot, UnixTimestamp
from localnet.feed import (
    AccountWritten,
    BlockMade,
    ChainEvent,
    EntryMade,
    SlotChanged,
    SlotStatus,
    TransactionRan,
)

ALICE, BOB, CAROL, PROGRAM, TABLE = (bytes([number]) * 32 for number in range(1, 6))
VOTE_PROGRAM = bytes(Pubkey.from_string("Vote111111111111111111111111111111111111111"))


def address(key: bytes) -> str:
    return str(Pubkey(key))


def written(slot: int, pubkey: bytes = ALICE, version: int = 1, **fields: Any) -> AccountWritten:
    values = {
        "lamports": 1,
        "owner": PROGRAM,
        "data": b"",
        "executable": False,
        "rent_epoch": 2**64 - 1,
        "signature": None,
        **fields,
    }
    return AccountWritten(Slot(slot), AccountWrite(pubkey=pubkey, write_version=version, **values))


def ran(
    slot: int,
    index: int,
    *,
    keys: tuple[bytes, ...] = (ALICE, PROGRAM),
    loaded: bytes | None = None,
    err: Any = None,
    before: list[Any] | None = None,
    after: list[Any] | None = None,
) -> TransactionRan:
    """A transaction that names these accounts; its signature tells slot and index."""
    signature = bytes([slot, index]) * 32
    lookups = [Lookup(TABLE, b"\0", b"")] if loaded else []
    wire = Wire(
        signatures=[signature],
        version=0 if loaded else "legacy",
        header=Header(1, 0, 1),
        account_keys=list(keys),
        recent_blockhash=bytes(32),
        instructions=[Instruction(len(keys) - 1, b"\0", b"")],
        lookups=lookups,
    )
    count = wire.key_count
    meta = {
        "err": err,
        "status": {"Ok": None} if err is None else {"Err": err},
        "fee": 5000,
        "preBalances": [1] * count,
        "postBalances": [1] * count,
        "innerInstructions": [],
        "logMessages": [],
        "preTokenBalances": before or [],
        "postTokenBalances": after or [],
        "rewards": [],
        "loadedAddresses": {"writable": [address(loaded)] if loaded else [], "readonly": []},
    }
    record = TransactionRecord(encode_wire(wire), meta)
    return TransactionRan(Slot(slot), index, signature, record)


def token_balance(index: int, owner: bytes, amount: int) -> dict[str, Any]:
    return {
        "accountIndex": index,
        "mint": address(TABLE),
        "owner": address(owner),
        "programId": address(PROGRAM),
        "uiTokenAmount": {
            "uiAmount": float(amount) or None,
            "decimals": 0,
            "amount": str(amount),
            "uiAmountString": str(amount),
        },
    }


def entry(slot: int, index: int, transactions: int = 0, first: int = 0) -> EntryMade:
    return EntryMade(Slot(slot), index, 1, bytes([slot]) * 32, transactions, first)


def block(slot: int, *happenings: ChainEvent) -> BlockMade:
    """The block of these happenings."""
    return BlockMade(
        SlotRecord(
            slot=Slot(slot),
            parent_slot=Slot(slot - 1),
            blockhash=address(bytes([slot]) * 32),
            previous_blockhash=address(bytes([slot - 1]) * 32),
            block_time=UnixTimestamp(1_700_000_000 + slot),
            block_height=slot,
            transactions=[each.record for each in happenings if isinstance(each, TransactionRan)],
            rewards=[],
            account_writes=[each.write for each in happenings if isinstance(each, AccountWritten)],
        ),
        entry_count=sum(isinstance(each, EntryMade) for each in happenings),
    )


def status(slot: int, reached: SlotStatus, dead_error: str | None = None) -> SlotChanged:
    return SlotChanged(Slot(slot), Slot(slot - 1), reached, dead_error)


def a_slot(slot: int) -> list[ChainEvent]:
    """A whole slot in its order, up to PROCESSED: two transactions, Alice written twice."""
    parts: list[ChainEvent] = [
        written(slot, ALICE, 10 * slot, lamports=10),
        ran(slot, 0),
        written(slot, ALICE, 10 * slot + 1, lamports=11),
        written(slot, BOB, 10 * slot + 2, lamports=12),
        ran(slot, 1, keys=(BOB, PROGRAM), err={"InstructionError": [0, {"Custom": 1}]}),
        entry(slot, 0, 2),
        entry(slot, 1, 0, 2),
    ]
    return [
        status(slot, SlotStatus.FIRST_SHRED_RECEIVED),
        status(slot, SlotStatus.CREATED_BANK),
        *parts,
        status(slot, SlotStatus.COMPLETED),
        block(slot, *parts),
        status(slot, SlotStatus.PROCESSED),
    ]
