"""Opening a chain: a new one from its genesis, or the one that the folder holds."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.lattice import LatticeHash, bank_hash
from chain.units import Slot, UnixTimestamp
from localnet.bank import Bank, BankState, Ground, lattice_of
from localnet.feed import EntryMade
from localnet.genesis import STAKE_LAMPORTS, genesis_accounts, stake_config
from localnet.identities import VALIDATOR_COUNT, validators
from localnet.leaders import Schedule
from localnet.native_mints import native_mints
from localnet.state import FinalizedAccounts
from localnet.storage import Storage

# The name of the number that is the chain's first second.
GENESIS_TIME = "genesis_time"
# Write versions are reserved by the million: one database write for so many of the chain's.
_VERSIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Opened:
    """A chain ready to go on: its newest finalized bank, the first slot that is free, and the given
    accounts that it has not yet.
    """

    root: Bank
    genesis_hash: Hash
    schedule: Schedule
    accounts: FinalizedAccounts
    first_free_slot: Slot
    accounts_to_load: dict[Pubkey, Account]


def open_chain(
    storage: Storage,
    *,
    epoch_slots: int,
    slot_seconds: float,
    now: UnixTimestamp,
    validator_count: int = VALIDATOR_COUNT,
    given: Mapping[Pubkey, Account] | None = None,
    token_2022_mint: bool = True,
) -> Opened:
    """The chain of the storage; a new one where it holds none, with the given accounts in it.

    The slots since the last block count as skipped, though never more than an epoch, and none
    that an earlier run may have shown is used again.
    """
    begins = storage.state() is None
    if begins:
        storage.keep_fact("genesis_hash", sha256(os.urandom(32)).digest())
        storage.keep_number("epoch_slots", epoch_slots)
        storage.keep_number("validators", validator_count)
        storage.keep_number(GENESIS_TIME, now)
    genesis_hash = storage.fact("genesis_hash")
    assert genesis_hash is not None
    schedule = _schedule(storage, genesis_hash)
    if begins:
        _begin(storage, schedule, given or {}, now, token_2022_mint)
    state = storage.state()
    assert state is not None
    ground = _ground(storage, schedule, FinalizedAccounts(storage.accounts()))
    if not state.accounts_lattice:  # of a chain from before it was kept
        state = replace(state, accounts_lattice=_lattice(ground.accounts.items()))
    root = Bank(state, None, ground)
    root.confirmed = True
    loading = dict(given or {})
    for mint, account in native_mints(token_2022=token_2022_mint).items():
        # A chain of before these were part of genesis.
        if mint not in loading and root.load(mint) is None:
            loading[mint] = account
    missed = 0
    if state.slot:
        epoch = schedule.epoch_slots
        missed = min(int(max(now - state.block_time, 0) / slot_seconds), epoch)
    return Opened(
        root=root,
        genesis_hash=Hash(genesis_hash),
        schedule=schedule,
        accounts=ground.accounts,
        first_free_slot=Slot(max(state.slot + missed, storage.number("last_slot")) + 1),
        accounts_to_load={} if begins else loading,
    )


def _begin(
    storage: Storage,
    schedule: Schedule,
    given: Mapping[Pubkey, Account],
    now: UnixTimestamp,
    token_2022_mint: bool,
) -> None:
    genesis_hash = schedule.seed
    state = BankState(
        slot=Slot(0),
        parent_slot=Slot(0),
        previous_blockhash=bytes(32),
        blockhash=genesis_hash,
        block_height=0,
        block_time=now,
        blockhashes=[],
        transaction_count=0,
        bank_hash=bytes(32),
        accounts_lattice=b"",
    )
    accounts = {
        **genesis_accounts(
            schedule.epoch_slots,
            Hash(genesis_hash),
            now,
            schedule.validators,
            token_2022_mint=token_2022_mint,
        ),
        **given,
        **stake_config(),
    }
    lattice = _lattice(accounts.items())
    state = replace(
        state,
        accounts_lattice=lattice,
        bank_hash=bank_hash(bytes(32), 0, genesis_hash, lattice),
    )
    # As a validator does: what the chain starts with are writes of slot 0, outside transactions.
    bank = Bank(state, None, _ground(storage, schedule, FinalizedAccounts()))
    for key, account in accounts.items():
        if account.lamports:
            bank.write(key, account)
    only_entry = EntryMade(Slot(0), 0, 0, genesis_hash, 0, 0)
    storage.keep(bank.state(), bank.record(), bank.written, (), [only_entry])


def _lattice(accounts: Iterable[tuple[Pubkey, Account]]) -> bytes:
    total = LatticeHash()
    for each in accounts:
        total.add(lattice_of(*each))
    return bytes(total)


def _schedule(storage: Storage, genesis_hash: bytes) -> Schedule:
    # The first run's: epochs do not change their length, nor do validators join or leave. Chains
    # of before there was a choice have four.
    leading = validators(storage.number("validators") or VALIDATOR_COUNT)
    return Schedule(storage.number("epoch_slots"), genesis_hash, leading)


def _ground(storage: Storage, schedule: Schedule, accounts: FinalizedAccounts) -> Ground:
    return Ground(
        accounts=accounts,
        schedule=schedule,
        next_write_version=write_versions(storage),
        staked=STAKE_LAMPORTS * len(schedule.validators),
    )


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
