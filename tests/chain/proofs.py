"""A little chain of banks and the votes for them, as documents that prove its slots."""

import json
import struct
from typing import Any

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from chain.encodings import b64encode
from chain.lattice import LatticeHash, bank_hash
from tests.rewind.samples import write

VOTE = Pubkey.from_string("Vote111111111111111111111111111111111111111")
VOTERS = [Keypair.from_seed(bytes([number]) * 32) for number in range(1, 5)]
ACCOUNTS = [Pubkey.from_bytes(bytes([number]) * 32) for number in range(101, 105)]
STAKES = [40, 30, 20, 10]


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def tower_sync(slots: list[int], voted: bytes, *, root: int = 2**64 - 1, kind: int = 14) -> bytes:
    """Of these slots, the newest last; `kind` 12 is the compact update, odd ones switch forks."""
    data = struct.pack("<IQ", kind, root) + varint(len(slots))
    before = 0 if root == 2**64 - 1 else root
    for slot in slots:
        data += varint(slot - before) + b"\x01"
        before = slot
    data += voted + b"\x00"
    return data + bytes({12: 0, 13: 32, 14: 32, 15: 64}[kind])


def vote_transaction(
    account: Pubkey, voter: Keypair, data: bytes, *, payer: Keypair | None = None
) -> Transaction:
    metas = [AccountMeta(account, False, True), AccountMeta(voter.pubkey(), True, False)]
    payer = voter if payer is None else payer
    signers = [payer] if payer == voter else [payer, voter]
    instruction = Instruction(VOTE, data, metas)
    return Transaction.new_signed_with_payer(
        [instruction], payer.pubkey(), signers, Hash(bytes([7]) * 32)
    )


def vote(number: int, slot: int, voted: bytes, **change: Any) -> dict[str, Any]:
    """Of the voter of that number for the bank of the slot."""
    data = change.pop("data", tower_sync([slot - 1, slot], voted))
    signed = vote_transaction(ACCOUNTS[number], VOTERS[number], data)
    return {
        "votePubkey": str(ACCOUNTS[number]),
        "authorizedVoter": str(VOTERS[number].pubkey()),
        "signature": str(signed.signatures[0]),
        "slot": slot + 1,
        "stake": STAKES[number],
        "transaction": b64encode(bytes(signed)),
        **change,
    }


def chain(slots: list[int], *, voters: int = 4, fork_at: int = -1) -> list[dict[str, Any]]:
    """Documents of slots, oldest first; each has its votes."""
    parent_slot, parent, made = slots[0] - 1, bytes([3]) * 32, []
    total = LatticeHash()
    for slot in slots:
        total.add(bytes(LatticeHash.of([write(slot, lamports=slot)])))
        fork = struct.pack("<Q", 1) if slot == fork_at else None
        blockhash = bytes([slot % 256]) * 32
        own = bank_hash(parent, slot + 5, blockhash, bytes(total), hard_fork=fork)
        made.append(
            {
                "slot": slot,
                "bankHash": str(Hash(own)),
                "parentSlot": parent_slot,
                "parentBankHash": str(Hash(parent)),
                "signatureCount": slot + 5,
                "blockhash": str(Hash(blockhash)),
                "accountsLatticeHash": b64encode(bytes(total)),
                "accountsLatticeChecksum": str(Hash(total.checksum)),
                "hardForkData": None if fork is None else b64encode(fork),
                "epoch": 0,
                "totalStake": 100,
                "votes": [
                    vote(number, slot, own, data=tower_sync([parent_slot, slot], own))
                    for number in range(voters)
                ],
            }
        )
        parent_slot, parent = slot, own
    return made


def electorate(epoch: int = 0, **change: Any) -> dict[str, Any]:
    """Stakes and voters of these accounts, as a reader gives them."""
    stakes = {
        str(account): {"lamports": stake, "authorizedVoter": str(voter.pubkey())}
        for account, voter, stake in zip(ACCOUNTS, VOTERS, STAKES, strict=True)
    }
    return {"epoch": epoch, "stakes": stakes, **change}


def text(document: Any) -> bytes:
    return json.dumps(document).encode()
