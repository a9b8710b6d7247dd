"""Tracks active submissions: new entries, what the chain reports, and when each is over."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from priority.chain_events import BlockMade, ChainEvent, Seen, SlotMoved
from priority.lander.chain_view import Chain
from priority.lander.services.active_submissions import (
    ON_CHAIN,
    ActiveSubmission,
    ActiveTransaction,
    active_submission,
)
from priority.lander.services.sending import FanOut
from priority.lander.services.writer import Writer
from priority.submissions import pending_names, unpack

# Without a follower a blockhash is assumed to be valid for no longer than this.
_BLIND_SECONDS = 150.0
# A block at most so far above a newest one is confirmed, or never will be. Where confirmations are
# not reported the newest height decides, which may be the clock's.
_CONFIRMED_WITHIN = 64
_SILENCE_SECONDS = 60.0
# Ingest settles fates too: this finds those whose chain events were missed.
_LOOKED_UP_EVERY_SECONDS = 2.0
_OLD_SECONDS = 5.0
_MOST_LOOKED_UP = 5_000
_SWEEP_SECONDS = 1.0
# Nothing is sent while these are checked.
_SWEPT_AT_ONCE = 500
# Why a transaction on a nonce is not sent any more.
_PATIENCE_OVER = "patience_over: it was sent for NONCE_PATIENCE_SECONDS"
_CROWDED_OUT = "crowded_out: the key had the most on durable nonces while the lander was full"
# So much of the room is made at once.
_ROOM_PART = 100
_BUNDLE_LOST = "bundle_lost: another transaction of its bundle can no longer land"
# What another lander had waits so long for its row, which says what was attempt.
_HELD_SECONDS = 1.0


class ActiveSubmissions:
    """All submissions this lander is working on."""

    def __init__(
        self,
        chain: Chain,
        fan_out: FanOut,
        writer: Writer,
        *,
        nonce_patience_seconds: int,
        most: int,
    ) -> None:
        self._chain = chain
        self._fan_out = fan_out
        self._writer = writer
        self._nonce_patience_seconds = nonce_patience_seconds
        self._most = most
        # Names of those that may be accepted again, as they are not sent any more.
        self.crowded_out: list[bytes] = []
        self._by_entry: dict[bytes, ActiveSubmission] = {}
        self._by_signature: dict[bytes, list[tuple[ActiveSubmission, ActiveTransaction]]] = {}
        self._by_slot: dict[int, dict[ActiveTransaction, ActiveSubmission]] = {}
        # Submissions with a blockhash whose height is not known yet.
        self._unplaced: dict[ActiveSubmission, None] = {}
        self._swept_at = 0.0
        self._unswept: list[ActiveSubmission] = []
        self._looked_up_at = 0.0
        self._not_looked_up: list[bytes] = []

    def __len__(self) -> int:
        return len(self._by_entry)

    def has_room(self) -> bool:
        """Whether another one may be taken. If not, and half of all are on nonces, which are sent
        for long, some of these make room: the oldest of the key that has the most of them.
        """
        if len(self._by_entry) < self._most:
            return True
        if not any(each.is_done for each in self._by_entry.values()):
            self._crowd_out()
        return False

    def take(self, entry_id: bytes, packed: bytes, again: bool) -> None:
        """Starts sending an entry of the stream; with `again` (another lander had it) only when its
        row is known. Raises ValueError for a malformed entry.
        """
        if entry_id in self._by_entry:
            return
        submission = active_submission(entry_id, unpack(packed))
        self._by_entry[entry_id] = submission
        for transaction in submission.transactions:
            self._by_signature.setdefault(transaction.signature, []).append(
                (submission, transaction)
            )
            transaction.accepted_slot = self._slot_of(submission, datetime.now(UTC))
            if not transaction.place(self._chain, _now()):
                self._unplaced[submission] = None
            sighting = self._chain.sighting(transaction.signature)
            if sighting is not None and transaction.sight(sighting, datetime.now(UTC)):
                self._lands(submission, transaction)
        if again:
            submission.hold(_HELD_SECONDS, self._fan_out.run)
        else:
            self._fan_out.run(submission)
        self._writer.changed(submission)

    def hear(self, events: list[ChainEvent], at: float) -> None:
        """Applies chain events, published at that time of the loop's clock."""
        chain, slot = self._chain, self._chain.slot
        for event in events:
            match event:
                case Seen():
                    self._see(event)
                case BlockMade():
                    chain.made(event, at)
                case SlotMoved(slot=moved, status=status):
                    chain.moved(event, at)
                    if status == "dead":
                        self._lose(moved)
                    elif chain.is_confirmed(moved):
                        self._confirm(moved)
                        if status == "finalized":
                            self._drop_dead_forks(moved)
        if chain.slot != slot:
            self._fan_out.ahead()

    def written(self, submission: ActiveSubmission) -> bool:
        """Its rows are stored. Returns whether its queue entry can be acknowledged."""
        if not submission.is_done:
            self._follow_slots(submission)
        if all(each.is_settled for each in submission.transactions):
            submission.is_done = True
            submission.stop()
        elif submission.is_held:
            submission.is_held = False
            self._fan_out.run(submission)
        is_over = submission.is_done and not submission.is_dirty
        if is_over:
            self._drop(submission)
        if submission.is_acked or not (is_over or self._had_its_tries(submission)):
            return False
        submission.is_acked = True
        return True

    def sweep(self, now: datetime) -> list[bytes]:
        """Fills in slots and last valid heights that were unknown. Returns the blockhashes whose
        heights are still unknown.
        """
        missing: dict[bytes, None] = {}
        for submission in list(self._unplaced):
            before = [
                (transaction.accepted_slot, transaction.last_valid)
                for transaction in submission.transactions
            ]
            for transaction in submission.transactions:
                if transaction.accepted_slot is None:
                    transaction.accepted_slot = self._slot_of(submission, now)
                if not transaction.place(self._chain, _now()):
                    missing[transaction.blockhash] = None
            if before != [
                (transaction.accepted_slot, transaction.last_valid)
                for transaction in submission.transactions
            ]:
                self._writer.changed(submission)
            if (
                all(each.is_placed for each in submission.transactions)
                or _age(submission, now) > _OLD_SECONDS
            ):
                del self._unplaced[submission]
        return list(missing)

    def finish_over(self, now: datetime) -> bool:
        """Finishes some of those that are over. Returns whether more are left to check."""
        if not self._unswept:
            if _now() - self._swept_at < _SWEEP_SECONDS:
                return False
            self._swept_at = _now()
            self._unswept = list(self._by_entry.values())
        for submission in self._unswept[-_SWEPT_AT_ONCE:]:
            if not submission.is_done and (why := self._why_over(submission, now)):
                self._finish(submission, why)
        del self._unswept[-_SWEPT_AT_ONCE:]
        return bool(self._unswept)

    def to_look_up(self, now: float) -> list[bytes]:
        """Signatures of stored ones that ingest may have settled: some, and the next ones later."""
        if now - self._looked_up_at < _LOOKED_UP_EVERY_SECONDS:
            return []
        self._looked_up_at = now
        self._not_looked_up = self._not_looked_up or list(self._by_signature)
        some = self._not_looked_up[-_MOST_LOOKED_UP:]
        del self._not_looked_up[-_MOST_LOOKED_UP:]
        before = datetime.now(UTC) - timedelta(seconds=_OLD_SECONDS)
        return [
            signature
            for signature in some
            if any(
                each.has_rows and each.accepted_at < before
                for each, _ in self._by_signature.get(signature, ())
            )
        ]

    def looked_up(self, asked: Collection[bytes], are_settled: Mapping[bytes, bool]) -> None:
        """Marks the fates of those that are settled as final. What has no row is written again."""
        for signature in asked:
            for submission, transaction in self._by_signature.get(signature, ()):
                if signature not in are_settled:
                    self._writer.changed(submission)
                    continue
                if not are_settled[signature]:
                    continue
                transaction.is_settled = True
                # A bundle cannot land whole any more once one of it is settled without a block.
                if not submission.is_on_chain or all(
                    each.is_settled for each in submission.transactions
                ):
                    self._finish(submission, _BUNDLE_LOST)

    def stop(self) -> None:
        """Cancels further rounds of all."""
        for submission in self._by_entry.values():
            submission.stop()

    def _crowd_out(self) -> None:
        on_nonces = [
            each for each in self._by_entry.values() if each.is_nonced and not each.is_on_chain
        ]
        if len(on_nonces) * 2 < self._most:
            return
        counts = Counter(each.accepted.key_id for each in on_nonces)
        ((key_id, _),) = counts.most_common(1)
        oldest = (each for each in on_nonces if each.accepted.key_id == key_id)
        for submission in itertools.islice(oldest, max(1, self._most // _ROOM_PART)):
            self._finish(submission, _CROWDED_OUT)
            accepted = submission.accepted
            self.crowded_out += pending_names(accepted.bundle_id, accepted.signatures)

    def _see(self, seen: Seen) -> None:
        for signature, sighting in self._chain.saw(seen):
            for submission, transaction in self._by_signature.get(signature, ()):
                is_first = not submission.is_on_chain
                if transaction.sight(sighting, datetime.now(UTC)):
                    self._lands(submission, transaction)
                    if is_first:
                        self._fan_out.landed()

    def _lands(self, submission: ActiveSubmission, transaction: ActiveTransaction) -> None:
        assert transaction.slot is not None
        submission.stop()
        self._by_slot.setdefault(transaction.slot, {})[transaction] = submission
        self._writer.changed(submission)
        if self._chain.is_confirmed(transaction.slot):
            self._confirm(transaction.slot)

    def _follow_slots(self, submission: ActiveSubmission) -> None:
        """A stored row may name a slot of which no chain event was heard here."""
        for transaction in submission.transactions:
            slot = transaction.slot
            if slot is None or transaction.commitment != "processed":
                continue
            if transaction not in self._by_slot.get(slot, ()):
                self._lands(submission, transaction)

    def _confirm(self, slot: int) -> None:
        for transaction, submission in self._by_slot.pop(slot, {}).items():
            if transaction.slot != slot:
                continue
            transaction.commitment = "confirmed"
            self._writer.changed(submission)
            if all(each.commitment == "confirmed" for each in submission.transactions):
                self._finish(submission, "")

    def _lose(self, slot: int) -> None:
        for transaction, submission in self._by_slot.pop(slot, {}).items():
            if submission.is_done or not transaction.lose(slot):
                continue
            self._writer.changed(submission)
            if transaction.slot is not None:
                self._lands(submission, transaction)
            elif not submission.is_on_chain:
                self._fan_out.run(submission)

    def _slot_of(self, submission: ActiveSubmission, now: datetime) -> int | None:
        return self._chain.slot_at(_now() - _age(submission, now))

    def _drop_dead_forks(self, finalized: int) -> None:
        """Drops sightings in unconfirmed slots below a finalized one. They are on dead forks whose
        end was not reported, because the follower was restarted meanwhile.
        """
        for slot in list(self._by_slot):
            if slot < finalized and not self._chain.is_confirmed(slot):
                self._lose(slot)

    def _had_its_tries(self, submission: ActiveSubmission) -> bool:
        """Whether all attempts are made and stored; its fate is still tracked."""
        return not (
            submission.has_tries_left
            or submission.under_way
            or submission.is_dirty
            or submission.is_held
        )

    def _why_over(self, submission: ActiveSubmission, now: datetime) -> str:
        """Why it is over: it can no longer land, is confirmed, or was sent for long enough. Empty
        if it is not.
        """
        if submission.is_on_chain:
            if all(each.commitment == "confirmed" for each in submission.transactions):
                return "confirmed"
            return ""
        age = _age(submission, now)
        if submission.is_nonced:
            return _PATIENCE_OVER if age > self._nonce_patience_seconds else ""
        if submission.is_too_old(self._newest_confirmed(), self._chain, _now()):
            return _BUNDLE_LOST
        # Without chain events the clock decides.
        is_blind = age > _BLIND_SECONDS and (
            submission.last_valid is None or self._chain.silent_for(_now()) > _SILENCE_SECONDS
        )
        return _BUNDLE_LOST if is_blind else ""

    def _newest_confirmed(self) -> int:
        """The height up to which every block is confirmed or dead."""
        newest = self._chain.height_now(_now())
        by_newest = -1 if newest is None else newest - _CONFIRMED_WITHIN
        return max(self._chain.confirmed_height, by_newest)

    def _finish(self, submission: ActiveSubmission, why: str) -> None:
        """Sends it no more. Those on a nonce can still land: their fates say `why`."""
        submission.is_done = True
        submission.stop()
        for transaction in submission.transactions:
            if transaction.is_nonced and transaction.state not in ON_CHAIN:
                transaction.stopped = why
        self._writer.changed(submission)

    def _drop(self, submission: ActiveSubmission) -> None:
        self._writer.forget(submission)
        if self._by_entry.get(submission.entry_id) is not submission:
            return  # an answer came after it was dropped; that is stored now
        del self._by_entry[submission.entry_id]
        self._unplaced.pop(submission, None)
        for transaction in submission.transactions:
            others = [
                each
                for each in self._by_signature[transaction.signature]
                if each[1] is not transaction
            ]
            if others:
                self._by_signature[transaction.signature] = others
            else:
                del self._by_signature[transaction.signature]
            for slot in transaction.sightings:
                self._by_slot.get(slot, {}).pop(transaction, None)


def _age(submission: ActiveSubmission, now: datetime) -> float:
    return (now - submission.accepted_at).total_seconds()


def _now() -> float:
    return asyncio.get_running_loop().time()
