"""Opening a chain: a new one from its genesis, or the one that the folder holds."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from solders.hash import Hash

from chain.blocks import SlotRecord
from chain.units import Slot, UnixTimestamp
from localnet.bank import Bank, BankState, Ground
from localnet.genesis import STAKE_LAMPORTS, genesis_accounts
from localnet.identities import VALIDATORS
from localnet.leaders import Schedule
from localnet.state import FinalizedAccounts
from localnet.storage import Storage

# Write versions are reserved by the million: one database write for so many of the chain's.
_VERSIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Opened:
    """A chain ready to go on: its newest finalized bank, and the first slot that is free."""

    root: Bank
    genesis_hash: Hash
    schedule: Schedule
    accounts: FinalizedAccounts
    first_free_slot: Slot


def open_chain(
    storage: Storage, *, epoch_slots: int, slot_seconds: float, now: UnixTimestamp
) -> Opened:
    """The chain of the storage; a new one where it holds none.

    The slots since the last block count as skipped, though never more than an epoch, and none
    that an earlier run may have shown is used again.
    """
    if storage.state() is None:
        _begin(storage, epoch_slots, now)
    state = storage.state()
    genesis_hash = storage.fact("genesis_hash")
    assert state is not None and genesis_hash is not None
    epoch_slots = storage.number(
        "epoch_slots"
    )  # its first run's: epochs do not change their length
    schedule = Schedule(epoch_slots, genesis_hash)
    accounts = FinalizedAccounts(storage.accounts())
    ground = Ground(
        accounts=accounts,
        schedule=schedule,
        next_write_version=write_versions(storage),
        staked=STAKE_LAMPORTS * len(VALIDATORS),
    )
    root = Bank(state, None, ground)
    root.confirmed = True
    missed = 0
    if state.slot:
        missed = min(int(max(now - state.block_time, 0) / slot_seconds), epoch_slots)
    return Opened(
        root=root,
        genesis_hash=Hash(genesis_hash),
        schedule=schedule,
        accounts=accounts,
        first_free_slot=Slot(max(state.slot + missed, storage.number("last_slot")) + 1),
    )


def _begin(storage: Storage, epoch_slots: int, now: UnixTimestamp) -> None:
    genesis_hash = sha256(os.urandom(32)).digest()
    storage.keep_fact("genesis_hash", genesis_hash)
    storage.keep_number("epoch_slots", epoch_slots)
    state = BankState(
        slot=Slot(0),
        parent_slot=Slot(0),
        previous_blockhash=bytes(32),
        blockhash=genesis_hash,
        block_height=0,
        block_time=now,
        blockhashes=[],
        transaction_count=0,
        bank_hash=sha256(genesis_hash).digest(),
    )
    record = SlotRecord(
        slot=Slot(0),
        parent_slot=Slot(0),
        blockhash=str(Hash(genesis_hash)),
        previous_blockhash=str(Hash.default()),
        block_time=now,
        block_height=0,
        transactions=[],
        rewards=[],
    )
    storage.keep(state, record, genesis_accounts(epoch_slots, now), ())


def write_versions(storage: Storage) -> Callable[[], int]:
    """A counter that goes on across restarts and never gives a number twice."""
    given = reserved = storage.number("write_versions")

    def following() -> int:
        nonlocal given, reserved
        given += 1
        if given > reserved:
            reserved = given + _VERSIONS
            storage.keep_number("write_versions", reserved)
        return given

    return following
