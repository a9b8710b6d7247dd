"""Ledger: the chain of slots on a clock, and the status of every transaction."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.commitment import Commitment
from chain.units import Slot, UnixTimestamp
from localnet.bank import Bank, Status
from localnet.disk_room import DiskRoom
from localnet.dropped_banks import run_dropped
from localnet.errors import SlotReached, SlotTooHigh
from localnet.faults import Faults
from localnet.feed import Feed, SlotChanged, SlotStatus
from localnet.opening import Opened
from localnet.prices import BlockPrices
from localnet.producing import begin_block, cast_votes, end_block, run_turn
from localnet.storage import Storage
from localnet.submissions import Bundle, BundleState, Submitted, read_transaction
from simulator.engine import Engine
from simulator.moment import Moment
from simulator.outcome import Outcome

# A block's compute units, as on mainnet.
_BLOCK_UNITS = 60_000_000
# Transactions of an entry.
_TURN = 16
# How long the chain runs transactions before the servers have the loop.
_LEAST_SECONDS, _MOST_SECONDS = 0.002, 0.1
_LONGEST_QUEUE = 50_000
# A thousand times as many as mainnet has had.
HIGHEST_WARP = Slot(10**12)
# Slot numbers are reserved in runs, one database write for each: a restart skips the rest.
_RESERVED_SLOTS = 32
# Blocks whose transactions are known without a look into the storage: as long as a node knows them.
_RECENT_BLOCKS = 300
_KEPT_BUNDLES = 10_000
_PRICED_BLOCKS = 150


class QueueFull(Exception):
    """More transactions wait than will ever land in time."""


class Seen(NamedTuple):
    """A transaction's status; `confirmations` is how many blocks stand on its own, None once it is
    finalized.
    """

    status: Status
    commitment: Commitment
    confirmations: int | None


class Watcher(Protocol):
    """Who wants to know at once what happens, in the order in which it does."""

    def received(self, signature: Signature) -> None: ...

    def opened(self, bank: Bank) -> None: ...

    def reached(self, bank: Bank, commitment: Commitment) -> None: ...


class Ledger:
    """One chain: makes its slots, and answers where it stands. For the event loop's thread only."""

    def __init__(
        self,
        chain: Opened,
        storage: Storage,
        feed: Feed,
        faults: Faults,
        *,
        slot_seconds: float,
        finalized_after: int,
        skip_percent: int,
        votes: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.genesis_hash = chain.genesis_hash
        self.schedule = chain.schedule
        self.accounts = chain.accounts
        self.storage, self._room = storage, DiskRoom(storage.folder)
        self.slot_seconds = slot_seconds
        self.head = self.confirmed = self.root = chain.root
        self.watchers: list[Watcher] = []
        # What the newest finalized blocks cost; like a node, it forgets them when it ends.
        self.prices: deque[tuple[Slot, BlockPrices]] = deque(maxlen=_PRICED_BLOCKS)
        # Written without a signature in the next block.
        self.accounts_to_load: dict[Pubkey, Account] = {}
        self._feed = feed
        self._faults = faults
        self._finalized_after = finalized_after
        self._skip_percent = skip_percent
        self._votes = votes
        self._clock = clock
        self._chance = random.Random(bytes(chain.genesis_hash))
        self._engine = Engine()
        self._next_slot = chain.first_free_slot
        self._reserved = storage.number("last_slot")
        self._fork_from: Bank | None = None
        self._forked: list[Bundle | Submitted] = []
        self._queue: deque[Bundle | Submitted] = deque()
        self._waiting: set[bytes] = set()
        self._wake = asyncio.Event()
        self._paused_at = 0.0  # when the chain last left the loop to the servers
        self._stopping = False
        self._airdrops = 0
        self._bundles: dict[str, Bundle] = {}
        self._recent: dict[bytes, Status] = {}
        self._recent_blocks: deque[list[bytes]] = deque()
        self._remember()

    # --- where it stands --------------------------------------------------------------------------

    def latest(self, commitment: Commitment) -> Bank:
        """The newest block of the commitment."""
        if commitment is Commitment.PROCESSED:
            return self.head
        return self.confirmed if commitment is Commitment.CONFIRMED else self.root

    def seen(self, signature: bytes) -> Seen | None:
        """What is known of a transaction: of those not finalized and those of late."""
        for depth, bank in enumerate(self.head.line()):
            status = bank.statuses.get(signature)
            if status is not None and bank.slot > self.root.slot:
                reached = Commitment.CONFIRMED if bank.confirmed else Commitment.PROCESSED
                return Seen(status, reached, depth)
        status = self._recent.get(signature)
        return None if status is None else Seen(status, Commitment.FINALIZED, None)

    def bank_of(self, slot: Slot, commitment: Commitment) -> Bank | None:
        """The block of a slot that has the commitment and is not finalized yet."""
        for bank in self.latest(commitment).line():
            if bank.slot == slot and slot > self.root.slot:
                return bank
        return None

    def bundle_status(self, bundle_id: str) -> Bundle | None:
        """A bundle with its state; None for one that was never here, or long ago."""
        return self._bundles.get(bundle_id)

    # --- what clients hand in ---------------------------------------------------------------------

    def submit(self, wire: bytes) -> Signature:
        """Queues a transaction for the slot that is being made, or the next. BadTransaction,
        SignatureFailure, QueueFull; a transaction that is there already is not queued again.
        """
        submitted = read_transaction(wire)
        signature = Signature(submitted.signature)
        if submitted.signature not in self._waiting and self.seen(submitted.signature) is None:
            self._enqueue(submitted)
            self._waiting.add(submitted.signature)
        for watcher in self.watchers:
            watcher.received(signature)
        return signature

    def submit_bundle(self, wires: list[bytes]) -> str:
        """Queues transactions that land in one slot, in order, or not at all: the bundle's id."""
        bundle = Bundle([read_transaction(wire) for wire in wires])
        bundle_id = bundle.bundle_id
        known = self._bundles.get(bundle_id)
        if known is None or known.state is BundleState.FAILED:
            self._enqueue(bundle)
            self._bundles[bundle_id] = bundle
            while len(self._bundles) > _KEPT_BUNDLES:
                self._bundles.pop(next(iter(self._bundles)))
        return bundle_id

    def _enqueue(self, item: Bundle | Submitted) -> None:
        if len(self._queue) >= _LONGEST_QUEUE:
            raise QueueFull
        self._queue.append(item)
        self._wake.set()

    def simulate(self, bank: Bank, transaction: VersionedTransaction, moment: Moment) -> Outcome:
        """What the transaction would do on top of the bank; its signatures are not checked."""
        return self._engine.execute(transaction, load=bank.load, moment=moment, verify=False)

    def warp_to(self, slot: Slot) -> None:
        """The next block has this slot, unless that is skipped. SlotReached, SlotTooHigh."""
        if slot < self._next_slot:
            raise SlotReached(slot, self._next_slot)
        if slot > HIGHEST_WARP:
            raise SlotTooHigh(slot, HIGHEST_WARP)
        self._next_slot = slot

    def next_airdrop(self) -> int:
        """A number that this process has not given yet."""
        self._airdrops += 1
        return self._airdrops

    # --- the clock --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Makes slot after slot until `stop`; what is whole by then gets finalized."""
        loop = asyncio.get_running_loop()
        end = loop.time()
        while not self._stopping:
            await self._room.wait(lambda: self._stopping)
            # A late slot delays those after it; it does not shorten them.
            end = max(end + self.slot_seconds, loop.time() + self.slot_seconds / 2)
            slot = self._take_slot()
            if self._skips():
                await self._idle(end)
                continue
            doomed = self._faults.fork_slots > 0
            if not doomed and self._fork_from is not None:
                self._leave_fork()
            if doomed:
                self._faults.fork_slots -= 1
                self._fork_from = self._fork_from or self.head
            bank = await self._make(slot, doomed, end)
            if doomed and self._faults.fork_slots <= 0:
                self._kill_fork(bank)
            else:
                self._froze(bank)
            self._feed.deliver()
        if self._fork_from is not None:
            self._leave_fork()
        for bank in reversed(list(self.head.line())):
            self._confirm(bank)
            self._finalize(bank)
        self.storage.keep_number("last_slot", self._next_slot - 1)

    def stop(self) -> None:
        """Ends `run` after the slot that is being made, which is cut short."""
        self._stopping = True
        self._wake.set()

    def _take_slot(self) -> Slot:
        slot = self._next_slot
        self._next_slot = Slot(slot + 1)
        if slot > self._reserved:
            self._reserved = slot + _RESERVED_SLOTS
            self.storage.keep_number("last_slot", self._reserved)
        return slot

    def _skips(self) -> bool:
        by_chance = self._chance.randrange(100) < self._skip_percent
        if self._faults.skip_slots > 0:
            self._faults.skip_slots -= 1
            return True
        return by_chance

    async def _idle(self, until: float) -> None:
        """Waits for the time or the end of everything."""
        loop = asyncio.get_running_loop()
        while not self._stopping and loop.time() < until:
            await self._woken(until)

    async def _woken(self, until: float) -> None:
        self._wake.clear()
        timeout = max(until - asyncio.get_running_loop().time(), 0)
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _make(self, slot: Slot, doomed: bool, until: float) -> Bank:
        loop = asyncio.get_running_loop()
        is_twice = not doomed and self._faults.two_banks > 0
        if is_twice:
            self._faults.two_banks -= 1
            if not self._faults.two_banks_later:
                self._run_dropped(slot, [e for e in self._queue if isinstance(e, Submitted)])
        bank = self.head.child(slot, now=UnixTimestamp(int(self._clock())))
        bank.doomed = doomed
        for watcher in self.watchers:
            watcher.opened(bank)
        loading = {} if doomed else self.accounts_to_load
        begin_block(bank, self._feed, loading)
        if not doomed:
            self.accounts_to_load = {}
            if self._votes:  # a fork that is going to die gets no votes
                cast_votes(bank, self._engine, self._feed, self._faults)
        while not self._stopping:
            has_run = self._run_turns(bank, doomed)
            self._feed.deliver()
            self._paused_at = time.monotonic()
            if has_run:
                await asyncio.sleep(0)
            if loop.time() >= until:
                break
            if not has_run:
                await self._woken(until)
        end_block(bank, self._feed, dies=doomed and self._faults.fork_slots <= 0)
        if is_twice and self._faults.two_banks_later:
            ran = [read_transaction(each.record.wire, verify=False) for each in bank.ran]
            self._run_dropped(slot, ran)
        return bank

    def _run_dropped(self, slot: Slot, waiting: list[Submitted]) -> None:
        bank = self.head.child(slot, now=UnixTimestamp(int(self._clock())))
        run_dropped(bank, self._engine, self._feed, self._faults, waiting)

    def _run_turns(self, bank: Bank, doomed: bool) -> bool:
        """Runs what waits for as long as the servers had since the last time: half of a full loop
        is the chain's. Whether there was anything.
        """
        began = time.monotonic()
        until = began + min(max(began - self._paused_at, _LEAST_SECONDS), _MOST_SECONDS)
        turn = self._take_turn(bank)
        has_run = bool(turn)
        while turn:
            run_turn(bank, self._engine, self._feed, turn)
            if doomed:
                self._forked += turn
            turn = self._take_turn(bank) if time.monotonic() < until else []
        return has_run

    def _take_turn(self, bank: Bank) -> list[Bundle | Submitted]:
        turn: list[Bundle | Submitted] = []
        while self._queue and len(turn) < _TURN and bank.cost < _BLOCK_UNITS:
            item = self._queue.popleft()
            if isinstance(item, Submitted):
                self._waiting.discard(item.signature)
                if self.seen(item.signature) is not None or item.signature in bank.statuses:
                    continue
            elif any(
                self.seen(each.signature) or each.signature in bank.statuses
                for each in item.transactions
            ):
                item.state, item.error = BundleState.FAILED, "AlreadyProcessed"
                continue
            turn.append(item)
        return turn

    # --- what becomes of blocks -------------------------------------------------------------------

    def _froze(self, bank: Bank) -> None:
        self.head = bank
        self._notify(bank, Commitment.PROCESSED)
        parents = [each for each in bank.line() if each is not bank and not each.doomed]
        for each in reversed(parents):
            self._confirm(each)
        for each in reversed(parents):
            if each.slot + self._finalized_after <= bank.slot:
                self._finalize(each)

    def _kill_fork(self, bank: Bank) -> None:
        self._feed.publish(_reached(bank, SlotStatus.DEAD, "the fork died on demand"))
        self._leave_fork()

    def _leave_fork(self) -> None:
        assert self._fork_from is not None
        self.head = self._fork_from
        self._fork_from = None
        # What stood on the fork stands nowhere now; its senders would send it again.
        for item in self._forked:
            if isinstance(item, Bundle):
                item.state, item.slot, item.error = BundleState.PENDING, None, None
                item.failed = None
        self._queue.extendleft(reversed(self._forked))
        self._forked = []

    def _confirm(self, bank: Bank) -> None:
        if not bank.confirmed:
            bank.confirmed = True
            self.confirmed = bank
            self._feed.publish(_reached(bank, SlotStatus.CONFIRMED))
            self._notify(bank, Commitment.CONFIRMED)

    def _finalize(self, bank: Bank) -> None:
        if bank.slot <= self.root.slot:
            return
        # Stored before it is published: a slot announced as final survives any exit.
        self.storage.keep(
            bank.state(),
            bank.record(),
            bank.written,
            [ran.found_by for ran in bank.ran],
            bank.entries_made,
        )
        self._recent.update(bank.statuses)
        self._recent_blocks.append(list(bank.statuses))
        while len(self._recent_blocks) > _RECENT_BLOCKS:
            for signature in self._recent_blocks.popleft():
                self._recent.pop(signature, None)
        self.prices.append((bank.slot, bank.prices))
        bank.rooted()
        self.root = bank
        self._feed.publish(_reached(bank, SlotStatus.FINALIZED))
        self._notify(bank, Commitment.FINALIZED)

    def _notify(self, bank: Bank, commitment: Commitment) -> None:
        for watcher in self.watchers:
            watcher.reached(bank, commitment)

    def _remember(self) -> None:
        """Takes the transactions of late from the storage, after a restart."""
        slots = self.storage.last_slots(_RECENT_BLOCKS)
        by_slot: dict[Slot, list[bytes]] = {slot: [] for slot in slots}
        for signature, slot, index, err in self.storage.signatures_since(min(slots)):
            self._recent[signature] = Status(slot, index, err)
            by_slot[slot].append(signature)
        self._recent_blocks.extend(by_slot[slot] for slot in sorted(by_slot))


def _reached(bank: Bank, status: SlotStatus, dead_error: str | None = None) -> SlotChanged:
    return SlotChanged(bank.slot, bank.parent_slot, status, dead_error, bank.number)
