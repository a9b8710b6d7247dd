"""Bank: one slot being made, on top of its parent: accounts, transactions and what they wrote."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain import addresses
from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.lattice import LatticeHash, account_lattice, bank_hash
from chain.units import Slot, UnixTimestamp
from localnet import sysvars
from localnet.block_index import IndexedTransaction, indexed
from localnet.entries import HashChain
from localnet.feed import EntryMade
from localnet.fees import leader_share
from localnet.leaders import Schedule
from localnet.prices import BlockPrices
from localnet.state import FinalizedAccounts
from localnet.submissions import Submitted
from simulator.engine import Engine
from simulator.moment import Moment
from simulator.outcome import Outcome

# Of banks, as a validator numbers them: from its start on.
_NUMBERS = itertools.count(1)

# How many blocks a blockhash lives after its own.
BLOCKHASH_AGE = 150


@dataclass(frozen=True, slots=True)
class Ran:
    """A transaction that stands in a block: its index in it, its record and its writes."""

    index: int
    signature: bytes
    record: TransactionRecord
    writes: list[AccountWrite]
    found_by: IndexedTransaction
    signature_count: int


class FailedRun(NamedTuple):
    """A bundle's transaction that failed, and its error as the node's JSON has it."""

    signature: bytes
    error: object


@dataclass(frozen=True, slots=True)
class Status:
    """What became of a transaction: where it stands, and its error as the node's JSON has it."""

    slot: Slot
    index: int
    err: object | None


@dataclass(frozen=True, slots=True)
class BankState:
    """What a bank goes on from, and what a frozen one is restored from. Hashes are 32 bytes; an
    open bank has its parent's bank_hash, and no blockhash. `blockhashes` are those that its
    transactions may name, oldest first. `accounts_lattice` is the lattice hash of all accounts,
    2,048 bytes, an open bank's its parent's; empty in chains from before it was kept.
    """

    slot: Slot
    parent_slot: Slot
    previous_blockhash: bytes
    blockhash: bytes
    block_height: int
    block_time: UnixTimestamp
    blockhashes: list[bytes]
    transaction_count: int
    bank_hash: bytes
    accounts_lattice: bytes = b""


@dataclass(frozen=True, slots=True)
class Ground:
    """What all banks of a chain stand on."""

    accounts: FinalizedAccounts
    schedule: Schedule
    next_write_version: Callable[[], int]
    staked: int


def lattice_of(key: Pubkey, account: Account) -> bytes:
    """An account's part of the lattice hash."""
    return account_lattice(
        bytes(key),
        account.lamports,
        bytes(account.owner),
        account.data,
        executable=account.executable,
    )


class Bank:
    """A slot's bank. Open at first, it runs transactions; once frozen, it has a blockhash.

    Accounts are looked up in its own writes, then its parent's, down to the finalized ones;
    `rooted` cuts that line when its writes have become part of them.
    """

    def __init__(self, state: "BankState", parent: "Bank | None", ground: "Ground") -> None:
        self.slot = state.slot
        self.number = next(_NUMBERS)
        self.parent: Bank | None = parent
        self.parent_slot = state.parent_slot
        self.previous_blockhash = Hash(state.previous_blockhash)
        self.block_height = state.block_height
        self.block_time = state.block_time
        self.schedule = ground.schedule
        self.leader = ground.schedule.leader(state.slot)
        self.epoch = ground.schedule.epoch_of(state.slot)
        self.blockhash = Hash(state.blockhash)
        self.bank_hash = state.bank_hash
        self.accounts_lattice = state.accounts_lattice
        self.blockhashes = [Hash(each) for each in state.blockhashes]
        self.transaction_count = state.transaction_count
        self.written: dict[Pubkey, Account] = {}
        self.writes: list[AccountWrite] = []
        self.ran: list[Ran] = []
        self.votes: list[Submitted] = []  # of the validators; they pay no priority
        self.statuses: dict[bytes, Status] = {}
        self.rewards: list[dict[str, object]] = []
        self.cost = 0
        self.longest_entry = 0
        self.prices = BlockPrices()
        self.confirmed = False
        self.doomed = False  # on a fork that is going to die
        self.entries = HashChain(self.previous_blockhash)
        self.entries_made: list[EntryMade] = []
        self.moment = Moment(self.slot, self.previous_blockhash, frozenset(self.blockhashes))
        self._leader_fees = 0
        self._ground = ground

    def child(self, slot: Slot, *, now: UnixTimestamp) -> "Bank":
        """An open bank on top of this frozen one."""
        state = BankState(
            slot=slot,
            parent_slot=self.slot,
            previous_blockhash=bytes(self.blockhash),
            blockhash=bytes(32),
            block_height=self.block_height + 1,
            block_time=UnixTimestamp(max(now, self.block_time)),
            blockhashes=[bytes(each) for each in self._accepted_after()],
            transaction_count=self.transaction_count,
            bank_hash=self.bank_hash,
            accounts_lattice=self.accounts_lattice,
        )
        return Bank(state, self, self._ground)

    def state(self) -> "BankState":
        """What the frozen bank hands on."""
        return BankState(
            slot=self.slot,
            parent_slot=self.parent_slot,
            previous_blockhash=bytes(self.previous_blockhash),
            blockhash=bytes(self.blockhash),
            block_height=self.block_height,
            block_time=self.block_time,
            blockhashes=[bytes(each) for each in self.blockhashes],
            transaction_count=self.transaction_count,
            bank_hash=self.bank_hash,
            accounts_lattice=self.accounts_lattice,
        )

    # --- accounts ---------------------------------------------------------------------------------

    def load(self, key: Pubkey) -> Account | None:
        """The account as this bank sees it."""
        bank: Bank | None = self
        while bank is not None:
            account = bank.written.get(key)
            if account is not None:
                return account if account.lamports else None
            bank = bank.parent
        return self._ground.accounts.get(key)

    def owned_by(self, owner: Pubkey) -> Iterator[tuple[Pubkey, Account]]:
        """The accounts that the program owns."""
        keys = set(self._ground.accounts.owned_by(owner))
        for bank in self.line():
            keys.update(key for key, account in bank.written.items() if account.owner == owner)
        for key in keys:
            account = self.load(key)
            if account is not None and account.owner == owner:
                yield key, account

    def everything(self) -> Iterator[tuple[Pubkey, Account]]:
        """Every account."""
        above: dict[Pubkey, Account] = {}
        for bank in self.line():
            above = {**bank.written, **above}
        for key, account in self._ground.accounts.items():
            if key not in above:
                yield key, account
        yield from ((key, account) for key, account in above.items() if account.lamports)

    def line(self) -> Iterator["Bank"]:
        """This bank and its ancestors, as far as they are not finalized."""
        bank: Bank | None = self
        while bank is not None:
            yield bank
            bank = bank.parent

    def write(self, key: Pubkey, account: Account, signature: bytes | None = None) -> AccountWrite:
        """Stores an account, outside transactions unless there is a signature."""
        self.written[key] = account
        write = AccountWrite(
            pubkey=bytes(key),
            lamports=account.lamports,
            owner=bytes(account.owner),
            data=bytes(account.data),
            executable=account.executable,
            rent_epoch=account.rent_epoch,
            write_version=self._ground.next_write_version(),
            signature=signature,
        )
        self.writes.append(write)
        return write

    @property
    def written_keys(self) -> set[bytes]:
        """The accounts that the block wrote."""
        return {write.pubkey for write in self.writes}

    def rooted(self) -> None:
        """Its writes are finalized accounts now."""
        self._ground.accounts.update(self.written)
        self.written = {}
        self.parent = None

    # --- the life of a slot -----------------------------------------------------------------------

    def begin(self) -> list[AccountWrite]:
        """The sysvars that change with a slot's begin, in the order in which a validator writes."""
        clock = self._sysvar(addresses.CLOCK)
        started_at = sysvars.epoch_started_at(clock)
        parent_epoch = self.schedule.epoch_of(self.parent_slot)
        if self.epoch != parent_epoch:
            started_at = self.block_time
        clock = sysvars.clock(
            self.slot, self.epoch, epoch_started_at=started_at, now=self.block_time
        )
        hashes = sysvars.slot_hashes(
            self._sysvar(addresses.SLOT_HASHES), self.parent_slot, self.bank_hash
        )
        writes = [self.write(addresses.SLOT_HASHES, sysvars.sysvar(hashes))]
        if self.epoch != parent_epoch:
            stakes = sysvars.stake_history(
                self._sysvar(addresses.STAKE_HISTORY), parent_epoch, self._ground.staked
            )
            writes.append(self.write(addresses.STAKE_HISTORY, sysvars.sysvar(stakes)))
        writes.append(self.write(addresses.CLOCK, sysvars.sysvar(clock)))
        return writes

    def run(self, engine: Engine, submitted: Submitted) -> Outcome | Ran:
        """Runs one transaction: its place in the block, or its outcome where it gets none."""
        outcome = engine.execute(
            submitted.transaction, load=self.load, moment=self.moment, verify=False
        )
        return self._take(submitted, outcome) if outcome.charged else outcome

    def run_bundle(self, engine: Engine, bundle: Sequence[Submitted]) -> list[Ran] | FailedRun:
        """Runs transactions that all succeed, or not one of them: then the one that failed."""
        transactions = [submitted.transaction for submitted in bundle]
        outcomes = engine.execute_bundle(
            transactions, load=self.load, moment=self.moment, verify=False
        )
        if outcomes[-1].err is not None:
            return FailedRun(bundle[len(outcomes) - 1].signature, outcomes[-1].err)
        return [self._take(*each) for each in zip(bundle, outcomes, strict=True)]

    def _take(self, submitted: Submitted, outcome: Outcome) -> Ran:
        signature = submitted.signature
        writes = [self.write(key, account, signature) for key, account in outcome.writes.items()]
        record = TransactionRecord(submitted.wire, outcome.meta())
        ran = Ran(
            index=len(self.ran),
            signature=signature,
            record=record,
            writes=writes,
            found_by=indexed(record),
            signature_count=len(submitted.transaction.signatures),
        )
        self.ran.append(ran)
        self.statuses[signature] = Status(self.slot, ran.index, outcome.err)
        self.transaction_count += 1
        self._leader_fees += leader_share(outcome.fee, submitted.message)
        self.cost += outcome.cost_units
        if submitted not in self.votes:
            self.prices.add(submitted.message)
        return ran

    def end(self) -> tuple[list[AccountWrite], int, bytes]:
        """Freezes the bank: what its end wrote, and the last entry's count of hashes and hash."""
        hash_count, last_hash = self.entries.tick(self.slot - self.parent_slot)
        self.blockhash = Hash(last_hash)
        recent = sysvars.recent_blockhashes(
            self._sysvar(addresses.RECENT_BLOCKHASHES), self.blockhash
        )
        writes = [self.write(addresses.RECENT_BLOCKHASHES, sysvars.sysvar(recent))]
        if self._leader_fees:
            writes.append(self._pay_leader())
        history = sysvars.slot_history(self._sysvar(addresses.SLOT_HISTORY), self.slot)
        writes.append(self.write(addresses.SLOT_HISTORY, sysvars.sysvar(history)))
        self.accounts_lattice = self._lattice_after()
        self.bank_hash = bank_hash(
            self.bank_hash, self.signature_count, last_hash, self.accounts_lattice
        )
        return writes, hash_count, last_hash

    @property
    def signature_count(self) -> int:
        """The signatures of the block's transactions, votes and failed ones too."""
        return sum(ran.signature_count for ran in self.ran)

    def _lattice_after(self) -> bytes:
        """The lattice hash of all accounts, with what the bank wrote."""
        total = LatticeHash(self.accounts_lattice)
        for key, account in self.written.items():
            before = (
                self._ground.accounts.get(key) if self.parent is None else self.parent.load(key)
            )
            if before is not None:
                total.take(lattice_of(key, before))
            total.add(lattice_of(key, account))
        return bytes(total)

    def record(self) -> SlotRecord:
        """The block that the frozen bank is."""
        return SlotRecord(
            slot=self.slot,
            parent_slot=self.parent_slot,
            blockhash=str(self.blockhash),
            previous_blockhash=str(self.previous_blockhash),
            block_time=self.block_time,
            block_height=self.block_height,
            transactions=[ran.record for ran in self.ran],
            rewards=self.rewards,
            account_writes=self.writes,
        )

    def accepts(self, blockhash: Hash) -> bool:
        """Whether a transaction in the next block may name it."""
        return blockhash in self._accepted_after()

    @property
    def last_valid_block_height(self) -> int:
        """The last block height at which a transaction may name the frozen bank's blockhash."""
        return self.block_height + BLOCKHASH_AGE

    @property
    def simulation_moment(self) -> Moment:
        """When a transaction runs that is tried on top of the frozen bank."""
        return Moment(self.slot, self.blockhash, frozenset(self._accepted_after()))

    def _accepted_after(self) -> list[Hash]:
        return [*self.blockhashes, self.blockhash][-BLOCKHASH_AGE:]

    def _pay_leader(self) -> AccountWrite:
        key = self.leader.identity.pubkey()
        before = self.load(key) or Account(0, b"", Pubkey.default(), False, 2**64 - 1)
        lamports = before.lamports + self._leader_fees
        self.rewards.append(
            {
                "pubkey": str(key),
                "lamports": self._leader_fees,
                "postBalance": lamports,
                "rewardType": "Fee",
                "commission": None,
            }
        )
        return self.write(
            key, Account(lamports, before.data, before.owner, before.executable, before.rent_epoch)
        )

    def _sysvar(self, key: Pubkey) -> bytes:
        account = self.load(key)
        assert account is not None, f"no sysvar {key}"
        return bytes(account.data)
