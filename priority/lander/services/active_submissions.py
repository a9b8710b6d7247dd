"""The submissions this lander is working on, with the progress of each transaction."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from chain.nonces import NonceUse, misplaced_advance, nonce_use, stands_on_nonce
from chain.transactions import BadTransaction, decode_wire
from priority.acceptance.services.foreseen import why_it_fails
from priority.lander.chain_view import Chain, Sighting
from priority.lander.services.engine_tips import OwnTip
from priority.models import Attempt, Submission
from priority.submissions import Accepted, State

# The first attempts show what an upstream refuses; later ones are only counted.
MOST_ATTEMPTS = 40
ON_CHAIN = frozenset({State.LANDED, State.FAILED})


class NewAttempt(NamedTuple):
    """A row of Attempt without its submission."""

    upstream: str
    target: str
    number: int
    started_at: datetime
    latency_us: int
    outcome: Attempt.Outcome
    answer: str


@dataclass(slots=True, eq=False)
class ActiveTransaction:
    """One transaction of a submission: the fields of its row."""

    signature: bytes
    wire: bytes
    blockhash: bytes
    is_nonced: bool
    will_fail: str = ""
    nonce: NonceUse | None = None
    advance_index: int | None = None
    state: State = State.RECEIVED
    commitment: str = ""
    reason: str = ""
    stopped: str = ""  # why it is not sent any more although it can still land
    accepted_slot: int | None = None
    last_valid: int | None = None
    sightings: dict[int, Sighting] = field(default_factory=dict)
    lost_slots: list[int] = field(default_factory=list)
    slot: int | None = None
    index: int | None = None
    error: bytes | None = None
    sent_at: datetime | None = None
    seen_at: datetime | None = None
    is_placed: bool = False  # its last valid height is exact
    is_settled: bool = False

    def sight(self, sighting: Sighting, now: datetime) -> bool:
        """Records that it is in a block. Returns whether that is new."""
        known = self.sightings.get(sighting.slot)
        self.sightings[sighting.slot] = sighting
        if known == sighting or (self.slot is not None and sighting.slot < self.slot):
            return False
        self._set_place(sighting)
        self.seen_at = self.seen_at or now
        return True

    def place(self, chain: Chain, now: float) -> bool:
        """Sets its last valid height, as exactly as the chain is known. Returns whether it is
        exact.
        """
        if self.is_nonced:
            self.is_placed = True
        elif not self.is_placed:
            self.is_placed = chain.knows(self.blockhash)
            if self.is_placed or self.last_valid is None:
                self.last_valid = chain.last_valid_height(self.blockhash, now)
        return self.is_placed

    def lose(self, slot: int) -> bool:
        """Records that the slot is dead. Returns whether that changes anything: it may
        be in another slot too.
        """
        self.sightings.pop(slot, None)
        self.lost_slots.append(slot)
        if self.slot != slot:
            return False
        if self.sightings:
            self._set_place(self.sightings[max(self.sightings)])
            return True
        self.slot = self.index = self.error = self.seen_at = None
        self.commitment = ""
        self.state = State.SENT if self.sent_at else State.RECEIVED
        return True

    def _set_place(self, sighting: Sighting) -> None:
        self.slot, self.index, self.error = sighting
        self.state = State.LANDED if sighting.error is None else State.FAILED
        self.commitment, self.reason, self.stopped = "processed", "", ""


@dataclass(slots=True, eq=False)
class ActiveSubmission:
    """An entry of the stream, from when it is read until its fate is known and stored."""

    entry_id: bytes
    accepted: Accepted
    transactions: list[ActiveTransaction]
    accepted_at: datetime
    tries: int = 0
    put_off: int = 0  # how often in a row the budget of re-sends had nothing left for it
    timer: asyncio.TimerHandle | None = None
    attempts_kept: int = 0
    unwritten: list[NewAttempt] = field(default_factory=list)
    bundle_reason: str = ""
    engine_ids: dict[str, str] = field(default_factory=dict)
    asked_at: float = 0.0  # when an engine was asked for the bundle's status
    own_tips: dict[str, OwnTip] = field(default_factory=dict)
    under_way: int = 0  # attempts without an answer yet
    is_held: bool = False  # waits for its stored row
    is_stored: bool = False
    is_storable: bool = True
    is_dirty: bool = True
    is_done: bool = False  # only storing it is left
    is_acked: bool = False

    @property
    def is_bundle(self) -> bool:
        return self.accepted.kind == Submission.Kind.BUNDLE

    @property
    def has_rows(self) -> bool:
        return self.is_stored and self.is_storable

    @property
    def is_sent(self) -> bool:
        return self.transactions[0].sent_at is not None

    @property
    def is_on_chain(self) -> bool:
        """At least one transaction is; the rest of a bundle cannot land any more."""
        return any(each.state in ON_CHAIN for each in self.transactions)

    @property
    def has_tries_left(self) -> bool:
        most = self.accepted.max_retries
        return most is None or self.tries <= most

    @property
    def last_valid(self) -> int | None:
        """Height of the last block that can include it; None if unlimited or unknown."""
        heights = [
            transaction.last_valid
            for transaction in self.transactions
            if transaction.last_valid is not None
        ]
        return min(heights, default=None)

    def is_too_old(self, height: int, chain: Chain, now: float) -> bool:
        """Whether no block of this height can include it. A bound is no reason to stop: the chain
        may have reported its blockhash since, if the stream had fallen behind.
        """
        if self.last_valid is None or height <= self.last_valid:
            return False
        for transaction in self.transactions:
            transaction.place(chain, now)
        return height > self.last_valid

    @property
    def is_nonced(self) -> bool:
        return all(each.is_nonced for each in self.transactions)

    @property
    def state(self) -> State:
        """The state of the whole, derived from its transactions."""
        states = {each.state for each in self.transactions}
        if State.FAILED in states:
            return State.FAILED
        if states == {State.LANDED}:
            return State.LANDED
        return State.SENT if self.is_sent else State.RECEIVED

    def note(self, attempt: NewAttempt) -> None:
        """Keeps the attempt as a row, if it is one of the first MOST_ATTEMPTS."""
        if self.attempts_kept < MOST_ATTEMPTS:
            self.attempts_kept += 1
            self.unwritten.append(attempt)

    def explain_bundle(self, why: str) -> None:
        """Sets why the bundle is not on chain, on each of its transactions."""
        self.bundle_reason = why
        for transaction in self.transactions:
            if transaction.state not in ON_CHAIN:
                transaction.reason = why

    def hold(self, seconds: float, run: Callable[["ActiveSubmission"], None]) -> None:
        """Runs it when its row is known, or after this time."""
        self.is_held = True
        self.timer = asyncio.get_running_loop().call_later(seconds, run, self)

    def stop(self) -> None:
        """Cancels further rounds."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def active_submission(entry_id: bytes, accepted: Accepted) -> ActiveSubmission:
    """The submission of a queue entry. Raises BadTransaction."""
    if not accepted.wires or len(accepted.wires) != len(accepted.signatures):
        raise BadTransaction("an entry has as many signatures as transactions")
    transactions = []
    for signature, data in zip(accepted.signatures, accepted.wires, strict=True):
        wire = decode_wire(data)
        if len(signature) != 64 or wire.signatures[0] != signature:
            raise BadTransaction("the signature is not the transaction's")
        transactions.append(
            ActiveTransaction(
                signature,
                data,
                wire.recent_blockhash,
                stands_on_nonce(wire),
                why_it_fails(wire),
                nonce_use(wire),
                misplaced_advance(wire),
            )
        )
    accepted_at = datetime.fromtimestamp(accepted.received_at, UTC)
    return ActiveSubmission(entry_id, accepted, transactions, accepted_at)
