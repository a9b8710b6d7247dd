"""Made blocks of all kinds of transactions: failed ones, memos, versions, shared addresses, and
blocks of none.
"""

import random
from hashlib import sha256
from typing import Any

from solders.keypair import Keypair

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode, b58encode
from chain.transactions import Header, Instruction, Lookup, Wire, encode_wire
from chain.units import Slot, UnixTimestamp
from tests.signing import signed

MEMO = b58decode("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
_KEYPAIRS = [Keypair.from_seed(sha256(b"account %d" % number).digest()) for number in range(12)]
ACCOUNTS = [bytes(each.pubkey()) for each in _KEYPAIRS]
_KEYPAIR_OF = dict(zip(ACCOUNTS, _KEYPAIRS, strict=True))
_PROGRAM = sha256(b"program").digest()


def made_block(slot: int, parent: int, *, transactions: int, seed: int) -> SlotRecord:
    """The same block for the same arguments."""
    chance = random.Random(f"{slot} {transactions} {seed}")
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(parent),
        blockhash=b58encode(sha256(b"%d %d" % (slot, seed)).digest()),
        previous_blockhash=b58encode(sha256(b"%d %d" % (parent, seed)).digest()),
        block_time=None if slot % 7 == 0 else UnixTimestamp(1_700_000_000 + slot),
        block_height=slot // 2,
        transactions=[_transaction(slot, index, chance) for index in range(transactions)],
        rewards=[],
    )


def _transaction(slot: int, index: int, chance: random.Random) -> TransactionRecord:
    keys = chance.sample(ACCOUNTS, chance.randrange(1, 5))
    own = sha256(b"own %d %d" % (slot, index)).digest()
    data = chance.choice([b"", bytes(8), chance.randbytes(40), chance.randbytes(300)])
    instructions = [Instruction(len(keys) + 1, bytes(range(len(keys))), data)]
    if chance.random() < 0.2:
        memo = chance.choice(["hello", 'a "quoted" \\ \x00 text', "grüße 你好", "x" * 200])
        instructions.append(Instruction(len(keys) + 2, b"", memo.encode()))
    looked_up = [chance.choice(ACCOUNTS)] if chance.random() < 0.2 else []
    lookups = [Lookup(own, b"\x01", b"")] if looked_up else []
    wire = Wire(
        signatures=[],
        version=0 if looked_up else "legacy",
        header=Header(1, 0, 2),
        account_keys=[*keys, own, _PROGRAM, MEMO],
        recent_blockhash=sha256(b"%d" % slot).digest(),
        instructions=instructions,
        lookups=lookups,
    )
    wire = signed(wire, _KEYPAIR_OF[keys[0]])
    return TransactionRecord(encode_wire(wire), _meta(keys, looked_up, chance))


def _meta(
    keys: list[bytes], looked_up: list[bytes], chance: random.Random
) -> dict[str, Any] | None:
    if chance.random() < 0.05:
        return None
    number = chance.randrange(4)
    err = {"InstructionError": [0, {"Custom": number}]} if chance.random() < 0.3 else None
    balances = [chance.randrange(10**12) for _ in range(len(keys) + 3 + len(looked_up))]
    program = b58encode(_PROGRAM)
    return {
        "err": err,
        "status": {"Ok": None} if err is None else {"Err": err},
        "fee": 5_000,
        "preBalances": balances,
        "postBalances": [max(0, balances[0] - 5_000), *balances[1:]],
        "innerInstructions": [],
        "logMessages": [
            f"Program {program} invoke [1]",
            f"Program log: {chance.choice(['done', 'ünïcode', b58encode(chance.randbytes(32))])}",
            f"Program {program} success",
        ],
        "preTokenBalances": [],
        "postTokenBalances": [],
        "rewards": [],
        "loadedAddresses": {"writable": [b58encode(each) for each in looked_up], "readonly": []},
        "computeUnitsConsumed": chance.randrange(200_000),
    }
