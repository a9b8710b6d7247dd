"""A made chain of full blocks: the messages of its stream, ready to be sent."""

import hashlib
import random
import struct
from collections.abc import Iterator
from typing import Any

from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode
from chain.transactions import Header, Instruction, Wire, encode_wire
from chain.units import Slot, UnixTimestamp
from upstream.geyser import messages
from upstream.protobuf import geyser_pb2 as schema

FIRST_SLOT = Slot(300_000_000)
TRANSACTIONS = 1_000
U64_MAX = 2**64 - 1

_ACCOUNTS = 60_000
_WRITES_PER_TRANSACTION = (3, 4, 5, 6)  # the payer among them: 4.5 on average
_PROGRAMS = [hashlib.sha256(b"program %d" % n).digest() for n in range(40)]
# How many of a hundred writes have which size of data: wallets, token accounts, mints, pools,
# tick arrays, others, as on mainnet without its votes (850 bytes on average).
_SIZES = [(28, 0), (40, 165), (3, 82), (9, 324), (8, 1_544), (6, 10_136), (6, 600)]
# What every bank writes outside transactions, with the size of its data.
_SYSVARS = [
    (b58decode("SysvarC1ock11111111111111111111111111111111"), 40),
    (b58decode("SysvarS1otHashes111111111111111111111111111"), 20_488),
    (b58decode("SysvarS1otHistory11111111111111111111111111"), 131_097),
    (b58decode("SysvarRecentB1ockHashes11111111111111111111"), 6_008),
]
_SYSVAR_OWNER = b58decode("Sysvar1111111111111111111111111111111111111")
# Of a block.
WRITES = TRANSACTIONS * sum(_WRITES_PER_TRANSACTION) // len(_WRITES_PER_TRANSACTION) + len(_SYSVARS)


class SampleChain:
    """Blocks of 1,000 transactions with 4.5 account writes each; the same ones every time."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        sizes = [size for share, size in _SIZES for _ in range(share)]
        self._keys = [hashlib.sha256(b"account %d" % n).digest() for n in range(_ACCOUNTS)]
        self._data = [self._random.randbytes(sizes[n % 100]) for n in range(_ACCOUNTS)]
        # Few accounts get most of the writes.
        self._weights = [1 / (rank + 10) for rank in range(_ACCOUNTS)]
        self._order = self._random.sample(range(_ACCOUNTS), _ACCOUNTS)
        self._write_version = 1
        self._blockhash = bytes(32)
        self.writes = 0
        self.bytes = 0

    def slot(self, slot: Slot, parent: Slot | None = None) -> SlotRecord:
        """The next block."""
        previous, self._blockhash = self._blockhash, hashlib.sha256(b"%d" % slot).digest()
        chosen = iter(
            self._random.choices(
                self._order, self._weights, k=TRANSACTIONS * max(_WRITES_PER_TRANSACTION) * 2
            )
        )
        transactions, writes = [], []
        for index in range(TRANSACTIONS):
            wanted = _WRITES_PER_TRANSACTION[index % len(_WRITES_PER_TRANSACTION)]
            numbers: dict[int, None] = {}
            while len(numbers) < wanted:
                numbers[next(chosen)] = None
            signature = hashlib.sha512(b"%d %d" % (slot, index)).digest()
            record = self._transaction(signature, list(numbers), previous)
            transactions.append(record)
            writes += [self._write(number, signature) for number in numbers]
        writes += [self._sysvar(key, size) for key, size in _SYSVARS]
        self.writes += len(writes)
        self.bytes += sum(len(write.data) for write in writes)
        return SlotRecord(
            slot=slot,
            parent_slot=Slot(slot - 1) if parent is None else parent,
            blockhash=str(Hash.from_bytes(self._blockhash)),
            previous_blockhash=str(Hash.from_bytes(previous)),
            block_time=UnixTimestamp(1_750_000_000 + (slot - FIRST_SLOT) * 2 // 5),
            block_height=slot - 20_000_000,
            transactions=transactions,
            rewards=[],
            account_writes=writes,
        )

    def _transaction(
        self, signature: bytes, numbers: list[int], blockhash: bytes
    ) -> TransactionRecord:
        count = len(numbers)
        program = _PROGRAMS[numbers[0] % len(_PROGRAMS)]
        wire = Wire(
            signatures=[signature],
            version="legacy",
            header=Header(1, 0, 1),
            account_keys=[*(self._keys[number] for number in numbers), program],
            recent_blockhash=blockhash,
            instructions=[Instruction(count, bytes(range(count)), signature[:24])],
            lookups=[],
        )
        balances = [2_000_000 + number for number in numbers]
        meta: dict[str, Any] = {
            "err": None,
            "status": {"Ok": None},
            "fee": 5_000,
            "preBalances": [*balances, 1],
            "postBalances": [balances[0] - 5_000, *balances[1:], 1],
            "innerInstructions": [],
            "logMessages": [
                f"Program {Hash.from_bytes(program)} invoke [1]",
                "Program log: Instruction: Swap",
                f"Program {Hash.from_bytes(program)} consumed 41210 of 200000 compute units",
                f"Program {Hash.from_bytes(program)} success",
            ],
            "preTokenBalances": [],
            "postTokenBalances": [],
            "rewards": [],
            "loadedAddresses": {"writable": [], "readonly": []},
            "computeUnitsConsumed": 41_210,
        }
        return TransactionRecord(encode_wire(wire), meta)

    def _write(self, number: int, signature: bytes) -> AccountWrite:
        """A write that changes a few bytes of the account, as most do."""
        data = self._data[number]
        if data:
            data = self._data[number] = struct.pack("<Q", self._write_version) + data[8:]
        write = AccountWrite(
            pubkey=self._keys[number],
            lamports=2_000_000 + self._write_version,
            owner=_PROGRAMS[number % len(_PROGRAMS)],
            data=data,
            executable=False,
            rent_epoch=U64_MAX,
            write_version=self._write_version,
            signature=signature,
        )
        self._write_version += 1
        return write

    def _sysvar(self, key: bytes, size: int) -> AccountWrite:
        self._write_version += 1
        data = struct.pack("<Q", self._write_version).ljust(size, b"\1")
        return AccountWrite(
            key, 1_000_000, _SYSVAR_OWNER, data, False, U64_MAX, self._write_version, None
        )


def messages_of(record: SlotRecord) -> Iterator[bytes]:
    """The stream's messages for a block, up to its being processed."""
    status = schema.SlotStatus
    yield slot_message(record.slot, status.SLOT_CREATED_BANK, record.parent_slot)
    writes = iter(record.account_writes or [])
    write = next(writes, None)
    for index, transaction in enumerate(record.transactions):
        update = schema.SubscribeUpdate(filters=["t"])
        update.transaction.slot = record.slot
        info = messages.transaction_info(index, transaction)
        update.transaction.transaction.CopyFrom(info)
        while write is not None and write.signature == info.signature:
            yield _account_message(record.slot, write)
            write = next(writes, None)
        yield update.SerializeToString()
    while write is not None:
        yield _account_message(record.slot, write)
        write = next(writes, None)
    meta = schema.SubscribeUpdate(filters=["b"])
    meta.block_meta.CopyFrom(messages.block_meta(record, entry_count=1))
    yield meta.SerializeToString()
    yield slot_message(record.slot, status.SLOT_PROCESSED, record.parent_slot)


def _account_message(slot: Slot, write: AccountWrite) -> bytes:
    update = schema.SubscribeUpdate(filters=["a"])
    update.account.slot = slot
    update.account.account.CopyFrom(messages.account_info(write))
    return bytes(update.SerializeToString())


def slot_message(slot: Slot, status: schema.SlotStatus, parent: Slot | None = None) -> bytes:
    """A slot's status; its parent is the slot below it unless another is given."""
    update = schema.SubscribeUpdate(filters=["s"])
    update.slot.slot = slot
    update.slot.parent = slot - 1 if parent is None else parent
    update.slot.status = status
    return bytes(update.SerializeToString())
