"""What a forger of proofs does to documents that hold."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.signature import Signature

from chain.encodings import b64decode, b64encode
from chain.lattice import LatticeHash, bank_hash
from chain.signed import signed_bytes
from chain.transactions import Wire, decode_wire, encode_wire
from tests.chain.proofs import ACCOUNTS, STAKES, VOTERS, chain, tower_sync, vote_transaction

Document = Mapping[str, Any]
FORGERS = [Keypair.from_seed(bytes([number]) * 32) for number in range(51, 55)]
LEFT_OUT = object()
(ONE,) = chain([5])


def own_hash(document: Document) -> bytes:
    return bytes(Hash.from_string(document["bankHash"]))


def rehashed(document: Document, **change: Any) -> dict[str, Any]:
    """With other parts, and the checksum and bank's hash that they make."""
    made = {**document, **change}
    lattice, fork = b64decode(made["accountsLatticeHash"]), made["hardForkData"]
    found = bank_hash(
        bytes(Hash.from_string(made["parentBankHash"])),
        made["signatureCount"],
        bytes(Hash.from_string(made["blockhash"])),
        lattice,
        hard_fork=None if fork is None else b64decode(fork),
    )
    checksum = str(Hash(LatticeHash(lattice).checksum))
    return {**made, "accountsLatticeChecksum": checksum, "bankHash": str(Hash(found))}


def with_lattice_bit(document: Document) -> str:
    """Its lattice hash with one bit flipped."""
    lattice = bytearray(b64decode(document["accountsLatticeHash"]))
    lattice[7] ^= 1
    return b64encode(bytes(lattice))


# A bank that the cluster never had, with the hash that its parts make.
INVENTED = rehashed(ONE, accountsLatticeHash=with_lattice_bit(ONE), votes=[])


def edited(number: int, document: Document = ONE, **change: Any) -> dict[str, Any]:
    """One vote has other fields, or has some LEFT_OUT."""
    votes = copy.deepcopy(document["votes"])
    merged = {**votes[number], **change}
    votes[number] = {key: each for key, each in merged.items() if each is not LEFT_OUT}
    return {**document, "votes": votes}


def all_edited(document: Document = ONE, **change: Any) -> dict[str, Any]:
    """Each vote has them."""
    made = dict(document)
    for number in range(len(document["votes"])):
        made = edited(number, made, **change)
    return made


def entry(transaction: Any, number: int, slot: int = 5, **change: Any) -> dict[str, Any]:
    """A document's vote with that transaction, as if it were of the voter of that number."""
    data = bytes(transaction)
    made = {
        "votePubkey": str(ACCOUNTS[number]),
        "authorizedVoter": str(VOTERS[number].pubkey()),
        "signature": str(Signature(decode_wire(data).signatures[0])),
        "slot": slot + 1,
        "stake": STAKES[number],
        "transaction": b64encode(data),
        **change,
    }
    return {key: each for key, each in made.items() if each is not LEFT_OUT}


def forged(bank: Document, keys: Sequence[Keypair] = FORGERS, **change: Any) -> dict[str, Any]:
    """The bank with votes of the real accounts, signed by the forger's keys."""
    data = tower_sync([bank["parentSlot"], bank["slot"]], own_hash(bank))
    votes = [
        entry(vote_transaction(ACCOUNTS[number], key, data), number, bank["slot"], **change)
        for number, key in enumerate(keys)
    ]
    return {**bank, "votes": votes}


def named_as_voters(document: Document, keys: Sequence[Keypair] = FORGERS) -> dict[str, Any]:
    """Each vote names that key as its account's voter."""
    made = dict(document)
    for number, key in enumerate(keys):
        made = edited(number, made, authorizedVoter=str(key.pubkey()))
    return made


def voted(data: bytes, **change: Any) -> dict[str, Any]:
    """The voters signed an instruction with these data, instead of their votes."""
    votes = [
        entry(vote_transaction(ACCOUNTS[number], VOTERS[number], data), number, **change)
        for number in range(4)
    ]
    return {**ONE, "votes": votes}


def wire_of(number: int) -> Wire:
    return decode_wire(b64decode(ONE["votes"][number]["transaction"]))


def signed_again(wire: Wire, number: int, **change: Any) -> dict[str, Any]:
    """The entry of a changed transaction, signed by the voter of that number, who pays."""
    signatures = [bytes(VOTERS[number].sign_message(signed_bytes(wire)))]
    return entry(encode_wire(replace(wire, signatures=signatures)), number, **change)


def rewired(document: Document = ONE, **change: Any) -> dict[str, Any]:
    """The voters signed their votes' transactions with these parts changed."""
    made = [signed_again(replace(wire_of(number), **change), number) for number in range(4)]
    return {**document, "votes": made}
