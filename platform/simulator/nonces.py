"""Durable nonces: which transactions use one, and how it advances."""

from hashlib import sha256
from typing import NamedTuple

from solders.account import Account
from solders.hash import Hash

from chain.addresses import SYSTEM
from chain.nonces import NONCE_SIZE, NonceData, read_nonce
from simulator.budget import LAMPORTS_PER_SIGNATURE
from simulator.parts import Parts

_ADVANCE = (4).to_bytes(4, "little")
_CURRENT, _INITIALIZED = 1, 1


class Nonce(NamedTuple):
    """The nonce account that a transaction uses: its index in the keys, and its data once it is
    advanced.
    """

    position: int
    advanced: bytes


def nonce_data(account: Account) -> NonceData | None:
    """The data of an initialized nonce account; None for any other account.

    Legacy nonces (version 0) do not count: no transaction can use one.
    """
    return read_nonce(bytes(account.owner), account.data)


def is_nonce(account: Account) -> bool:
    """Whether the account is a nonce of any version, as a fee payer may be."""
    data = account.data
    if account.owner != SYSTEM or len(data) != NONCE_SIZE:
        return False
    version, state = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
    return version <= _CURRENT and state == _INITIALIZED


def next_durable(previous_blockhash: Hash) -> bytes:
    """The hash that every nonce advances to in a slot."""
    return sha256(b"DURABLE_NONCE" + bytes(previous_blockhash)).digest()


def nonce_of(
    parts: Parts, accounts: list[Account | None], previous_blockhash: Hash, *, static: bool
) -> Nonce | None:
    """The nonce that makes the transaction's blockhash valid; None if it uses none. `static`: its
    account must be among the message's own keys.
    """
    if not parts.instructions:
        return None
    first = parts.instructions[0]
    if parts.keys[first.program_index] != SYSTEM or first.data[:4] != _ADVANCE:
        return None
    if not first.accounts:
        return None
    index = first.accounts[0]
    if not parts.is_writable(index) or (static and index >= parts.static_count):
        return None
    account = accounts[index]
    found = nonce_data(account) if account is not None else None
    if account is None or found is None:
        return None
    durable = next_durable(previous_blockhash)
    # A nonce cannot be advanced twice in a slot.
    if found.durable != bytes(parts.blockhash) or found.durable == durable:
        return None
    signers = (parts.keys[each] for each in first.accounts if each < parts.required)
    if not any(bytes(signer) == found.authority for signer in signers):
        return None
    fee = LAMPORTS_PER_SIGNATURE.to_bytes(8, "little")
    return Nonce(index, account.data[:40] + durable + fee)
