"""Whether a snapshot's accounts are all those of the chain: their sum, held against what the file
declares, and against the hash of the slot's bank, which the cluster voted for.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.lattice import LatticeHash, account_lattice, bank_hash, lattice_of
from chain.units import Slot
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import State, newest_states
from rewind.baselines.errors import FileChanged, NoSum, OtherAccounts, WrongBankHash, WrongSum
from rewind.baselines.store import baseline_rows
from rewind.baselines.store.snapshots import Staging
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.store import owners

T = TypeVar("T")

# Accounts that are looked up together.
_AT_ONCE = 500
NO_HASH = "account files carry no hash of all accounts"
OLD_KIND = (
    "neither its name nor its manifest has the lattice hash of its accounts: a hash of the older"
    " kind, of a merkle tree, says nothing here"
)

# The stored accounts once more, in the same order.
ReadAgain = Callable[[], Iterable[AccountWrite]]


@dataclass(frozen=True, slots=True)
class DeclaredBank:
    """The bank of a manifest: its hash and its parts. `hard_fork` is what chain.lattice's
    hard_fork_data gives, `delta_hash` the hash of the slot's written accounts where one is in it.
    """

    hash: bytes
    parent_hash: bytes
    parent_slot: Slot
    signature_count: int
    blockhash: bytes
    hard_fork: bytes | None
    delta_hash: bytes | None

    def hash_over(self, lattice: bytes) -> bytes:
        """The bank's hash, were that the accounts' lattice hash."""
        parts = (self.parent_hash, self.signature_count, self.blockhash)
        if self.delta_hash is None:
            return bank_hash(*parts, lattice, hard_fork=self.hard_fork)
        # Between the first lattice hashes and the end of delta hashes both were in it.
        count = self.signature_count.to_bytes(8, "little")
        head = hashlib.sha256(self.parent_hash + self.delta_hash + count + self.blockhash)
        found = hashlib.sha256(head.digest() + lattice).digest()
        return found if self.hard_fork is None else hashlib.sha256(found + self.hard_fork).digest()


@dataclass(frozen=True, slots=True)
class Declared:
    """What a file says of the sum of all accounts: the hash in its name, the lattice hash of its
    manifest (2,048 bytes) and the bank's; None where it has none of it. With `by_sum_alone` its
    manifest names no storages, so that nothing else shows that none is missing.
    """

    named: bytes | None = None
    lattice: bytes | None = None
    bank: DeclaredBank | None = None
    by_sum_alone: bool = False


@dataclass(frozen=True, slots=True)
class Base:
    """A full snapshot that is here, below an incremental one. Where it is not whole, or the sum of
    its accounts is not known, nothing above it is proven.
    """

    slot: Slot
    whole: bool
    lattice: bytes | None


@dataclass(frozen=True, slots=True)
class Proof:
    """`lattice` is the sum of all accounts, 2,048 bytes, None where it is not known; why it is not
    proven, empty where it is.
    """

    lattice: bytes | None = None
    why_unproven: str = NO_HASH

    @property
    def is_proven(self) -> bool:
        return not self.why_unproven

    @property
    def checksum(self) -> bytes | None:
        """32 bytes: what a snapshot's name has in base58."""
        return None if self.lattice is None else LatticeHash(self.lattice).checksum


def prove(
    staging: Staging, read: LatticeHash, declared: Declared, base: Base | None, again: ReadAgain
) -> Proof:
    """`read` is the sum of all that was staged, superseded states too. Raises WrongSum and
    WrongBankHash where the file declares other accounts, and NoSum where only a sum could show that
    they are all there. Inside a transaction; it may take long.
    """
    total = read.copy()
    _take_superseded(total, staging, again)
    if base is not None:
        if base.lattice is None:
            return Proof(None, f"the sum of its base, of slot {base.slot}, is not known")
        if not base.whole:
            return Proof(None, f"its base, of slot {base.slot}, is not here with all accounts")
        _put_over(total, staging, base.slot, base.lattice)
    why = _why_unproven(total, declared, None if base is None else base.slot)
    return Proof(bytes(total), why)


def _why_unproven(total: LatticeHash, declared: Declared, base_slot: Slot | None) -> str:
    """Empty where what the file declares is what its accounts make. Raises as `prove`."""
    found, bank = bytes(total), declared.bank
    made = None if bank is None else bank.hash_over(found)
    if declared.lattice is None:
        if total.checksum != declared.named and (bank is None or made != bank.hash):
            if declared.by_sum_alone:
                raise NoSum
            return OLD_KIND
    elif found != declared.lattice:
        raise WrongSum(LatticeHash(declared.lattice).checksum, total.checksum, base_slot=base_slot)
    if bank is not None and made is not None and made != bank.hash:
        raise WrongBankHash(bank.hash, made)
    return ""


def _take_superseded(total: LatticeHash, staging: Staging, again: ReadAgain) -> None:
    for state in staging.superseded():
        total.take(lattice_of(state))
    numbers = staging.superseded_unwanted()
    wanted = next(numbers, None)
    if wanted is None:
        return
    for number, account in enumerate(again(), 1):
        if number < wanted[0]:
            continue
        if account.pubkey != wanted[1]:
            raise FileChanged
        total.take(lattice_of(account))
        wanted = next(numbers, None)
        if wanted is None:
            return
    raise FileChanged


def _put_over(total: LatticeHash, staging: Staging, slot: Slot, lattice: bytes) -> None:
    """Adds the base, without those of its accounts that are among the staged ones."""
    total.add(lattice)
    for pubkeys in _batches(staging.pubkeys()):
        for state in _recorded(pubkeys, slot):
            total.take(lattice_of(state))


def require_same(staging: Staging, slot: Slot, lattice: bytes | None) -> None:
    """Raises OtherAccounts if what is recorded at the end of the slot is not what is staged, or
    where that is every account of the chain, does not sum to its lattice hash. Inside a
    transaction.
    """
    if lattice is not None and _sum_of_recorded(slot) == lattice:
        return
    for states in _batches(staging.states()):
        recorded = {state.pubkey: state for state in _recorded([s.pubkey for s in states], slot)}
        for staged in states:
            there = recorded.get(staged.pubkey)
            if there is not None and staged != (
                there.pubkey,
                there.lamports,
                there.owner,
                there.executable,
                there.data,
            ):
                raise OtherAccounts(slot, str(Pubkey(staged.pubkey)))
    if lattice is not None:
        raise OtherAccounts(slot, None)


def _sum_of_recorded(slot: Slot) -> bytes:
    total = LatticeHash()
    for each in baseline_rows.at_end_of(slot):
        owner = owners.pubkeys_of((each.owner_id,))[each.owner_id]
        parts = (each.pubkey, each.lamports, owner, each.data)
        total.add(account_lattice(*parts, executable=each.executable))
    return bytes(total)


def _recorded(pubkeys: Iterable[bytes], slot: Slot) -> Iterator[State]:
    """Of the accounts, the states that stand at the end of the slot."""
    layout = look_up_slot(slot).layout
    found = newest_states(list(pubkeys), Position.end_of(slot), layout)
    return (each for each in found.values() if (each.slot, each.position) == (slot, END_OF_SLOT))


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while some := list(islice(items, _AT_ONCE)):
        yield some


def shown(proof: Proof, declared: Declared) -> str:
    """One line of it, for people."""
    if not proof.is_proven:
        return f"unproven: {proof.why_unproven}"
    checksum = proof.checksum
    assert checksum is not None
    bank = "" if declared.bank is None else f", the bank's hash is {Hash(declared.bank.hash)}"
    return f"proven: all accounts sum to {Hash(checksum)}{bank}"
