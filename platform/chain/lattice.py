"""Hashes that cover every account of the chain: the accounts lattice hash (SIMD-0215) and a bank's.

The lattice hash of a set of accounts is the sum of its accounts' hashes, lane by lane: a write adds
the new state's and takes the old one's away, in any order. A bank's hash has it since that SIMD;
validators vote for it. Written from the SIMD and from Agave's `runtime/src/bank.rs`
(`hash_internal_state`), and held against real snapshots.
"""

import hashlib
import struct
from collections.abc import Iterable
from typing import Protocol, Self

import numpy as np
from blake3 import blake3

from chain.accounts import AccountWrite

LATTICE_BYTES = 2048
_LANES = np.dtype("<u2")
_LAMPORTS = struct.Struct("<Q")
_EXECUTABLE = (b"\0", b"\1")
_ZERO = bytes(LATTICE_BYTES)


class AccountState(Protocol):
    """What of an account its hash covers."""

    @property
    def pubkey(self) -> bytes: ...
    @property
    def lamports(self) -> int: ...
    @property
    def owner(self) -> bytes: ...
    @property
    def data(self) -> bytes: ...
    @property
    def executable(self) -> bool: ...


def account_lattice(
    pubkey: bytes, lamports: int, owner: bytes, data: bytes, *, executable: bool
) -> bytes:
    """One account's 2,048 bytes; zeros where it has no lamports. Its rent epoch is not in it."""
    if lamports == 0:
        return _ZERO
    hasher = blake3(_LAMPORTS.pack(lamports))
    hasher.update(data)
    hasher.update(_EXECUTABLE[executable] + owner + pubkey)
    return hasher.digest(length=LATTICE_BYTES)


def lattice_of(account: AccountState) -> bytes:
    """The same of a whole account."""
    return account_lattice(
        account.pubkey,
        account.lamports,
        account.owner,
        account.data,
        executable=account.executable,
    )


class LatticeHash:
    """The lattice hash of a set of accounts, to which accounts are added and taken away. It does
    not know what is in the set: who takes away what was never added gets another set's hash.
    """

    __slots__ = ("_lanes",)

    def __init__(self, value: bytes = _ZERO) -> None:
        """Of nothing, or of the 2,048 bytes that `bytes` gave; ValueError for another length."""
        if len(value) != LATTICE_BYTES:
            raise ValueError(f"a lattice hash has {LATTICE_BYTES} bytes, not {len(value)}")
        self._lanes = np.frombuffer(value, dtype=_LANES).copy()

    @classmethod
    def of(cls, accounts: Iterable[AccountWrite]) -> Self:
        """Of accounts, each once."""
        made = cls()
        for account in accounts:
            made.add(lattice_of(account))
        return made

    @classmethod
    def sum_of(cls, values: Iterable[bytes]) -> Self:
        """Of the accounts that have these 2,048 bytes each."""
        made = cls()
        for value in values:
            made.add(value)
        return made

    def add(self, value: bytes) -> None:
        """Adds an account's, or another set's, 2,048 bytes."""
        self._lanes += np.frombuffer(value, dtype=_LANES)

    def take(self, value: bytes) -> None:
        """Takes an account's, or another set's, 2,048 bytes away."""
        self._lanes -= np.frombuffer(value, dtype=_LANES)

    def copy(self) -> Self:
        return type(self)(bytes(self))

    @property
    def checksum(self) -> bytes:
        """32 bytes: what a snapshot's name has in base58."""
        return blake3(self._lanes.tobytes()).digest()

    def __bytes__(self) -> bytes:
        return self._lanes.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatticeHash) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __add__(self, other: "LatticeHash") -> Self:
        made = self.copy()
        made._lanes += other._lanes
        return made

    def __sub__(self, other: "LatticeHash") -> Self:
        made = self.copy()
        made._lanes -= other._lanes
        return made


def bank_hash(
    parent: bytes,
    signature_count: int,
    blockhash: bytes,
    accounts: bytes,
    *,
    hard_fork: bytes | None = None,
) -> bytes:
    """The hash that validators vote for, 32 bytes.

    `parent` is the parent bank's hash, `signature_count` the signatures of the block's transactions
    (votes too), `blockhash` the block's, `accounts` the lattice hash of all accounts at its end,
    `hard_fork` what `hard_fork_data` gives where a hard fork lies between the parent and the slot.
    """
    head = hashlib.sha256(parent + _LAMPORTS.pack(signature_count) + blockhash).digest()
    found = hashlib.sha256(head + accounts).digest()
    if hard_fork is not None:
        found = hashlib.sha256(found + hard_fork).digest()
    return found


def hard_fork_data(forks: Iterable[tuple[int, int]], slot: int, parent_slot: int) -> bytes | None:
    """What a hard fork adds to the hash of the first bank at or above its slot: the number of forks
    there as a u64; None where there is none. `forks` are pairs of slot and count.
    """
    count = sum(times for fork, times in forks if parent_slot < fork <= slot)
    return _LAMPORTS.pack(count) if count else None
