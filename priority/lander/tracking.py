"""ActiveSubmissions of a lander: what comes in, what the chain says of it, and when it needs no more care."""

import asyncio
import itertools
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from priority.happenings import BlockMade, Happening, Seen, SlotMoved
from priority.lander.active_submissions import (
    ActiveSubmission,
    ActiveTransaction,
    active_submission,
)
from priority.lander.chain_view import Chain
from priority.lander.sending import Race
from priority.lander.writer import Writer
from priority.submissions import unpack

# Where nobody follows the chain a blockhash is taken to live no longer than this.
_BLIND_SECONDS = 150.0
_SILENCE_SECONDS = 60.0
# Ingest settles fates too: whoever misses a word of the chain's hears of it so.
_LOOKED_UP_EVERY_SECONDS = 2.0
_OLD_SECONDS = 5.0
_MOST_LOOKED_UP = 5_000
_SWEEP_SECONDS = 1.0
# Nothing is sent while these are looked at.
_SWEPT_AT_ONCE = 500
# What another lander had waits so long for its row, which says what was attempt.
_HELD_SECONDS = 1.0


class ActiveSubmissions:
    """All that this lander has in submission."""

    def __init__(
        self, chain: Chain, race: Race, writer: Writer, *, nonce_patience_seconds: int
    ) -> None:
        self._chain = chain
        self._race = race
        self._writer = writer
        self._nonce_patience_seconds = nonce_patience_seconds
        self._by_entry: dict[bytes, ActiveSubmission] = {}
        self._by_signature: dict[bytes, list[tuple[ActiveSubmission, ActiveTransaction]]] = {}
        self._by_slot: dict[int, dict[ActiveTransaction, ActiveSubmission]] = {}
        self._by_row: dict[int, tuple[ActiveSubmission, ActiveTransaction]] = {}
        # ActiveSubmissions with a blockhash whose height is not known yet.
        self._unplaced: dict[ActiveSubmission, None] = {}
        self._swept_at = 0.0
        self._unswept: list[ActiveSubmission] = []
        self._looked_up_at = 0.0

    def __len__(self) -> int:
        return len(self._by_entry)

    def take(self, entry_id: bytes, packed: bytes, again: bool) -> None:
        """An entry of the stream goes out; one that somebody had before when its row is known.
        Raises ValueError for what is none.
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
            if not self._place(transaction):
                self._unplaced[submission] = None
            sighting = self._chain.sighting(transaction.signature)
            if sighting is not None and transaction.sight(sighting, datetime.now(UTC)):
                self._lands(submission, transaction)
        if again:
            submission.hold(_HELD_SECONDS, self._race.run)
        else:
            self._race.run(submission)
        self._writer.changed(submission)

    def hear(self, happenings: list[Happening], at: float) -> None:
        """What the chain did, told at that time of the loop's clock."""
        chain, slot = self._chain, self._chain.slot
        for happening in happenings:
            match happening:
                case Seen():
                    self._see(happening)
                case BlockMade():
                    chain.made(happening, at)
                case SlotMoved(slot=moved, status=status):
                    chain.moved(happening, at)
                    if status == "dead":
                        self._lose(moved)
                    elif chain.is_confirmed(moved):
                        self._confirm(moved)
                        if status == "finalized":
                            self._leave_behind(moved)
        if chain.slot != slot:
            self._race.ahead()

    def written(self, submission: ActiveSubmission) -> bool:
        """Its rows are stored as it was a moment ago. Whether its entry can go."""
        for transaction in submission.transactions:
            if transaction.row_id is not None:
                self._by_row[transaction.row_id] = (submission, transaction)
        if all(each.is_settled for each in submission.transactions):
            submission.is_done = True
            submission.stop()
        elif submission.is_held:
            submission.is_held = False
            self._race.run(submission)
        is_over = submission.is_done and not submission.is_dirty
        if is_over:
            self._drop(submission)
        if submission.is_acked or not (is_over or self._had_its_tries(submission)):
            return False
        submission.is_acked = True
        return True

    def sweep(self, now: datetime) -> list[bytes]:
        """Places what came without a place. Blockhashes whose heights others may know."""
        missing: dict[bytes, None] = {}
        for submission in list(self._unplaced):
            before = [
                (transaction.accepted_slot, transaction.last_valid)
                for transaction in submission.transactions
            ]
            for transaction in submission.transactions:
                if transaction.accepted_slot is None:
                    transaction.accepted_slot = self._slot_of(submission, now)
                if not transaction.is_placed and not self._place(transaction):
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

    def let_go(self, now: datetime) -> bool:
        """Lets go of some of what is over. Whether there is more to look at."""
        if not self._unswept:
            if _now() - self._swept_at < _SWEEP_SECONDS:
                return False
            self._swept_at = _now()
            self._unswept = list(self._by_entry.values())
        for submission in self._unswept[-_SWEPT_AT_ONCE:]:
            if not submission.is_done and self._is_over(submission, now):
                self._finish(submission)
        del self._unswept[-_SWEPT_AT_ONCE:]
        return bool(self._unswept)

    def to_look_up(self, now: float) -> list[int]:
        """Rows, by primary key, that may have been settled without us."""
        if now - self._looked_up_at < _LOOKED_UP_EVERY_SECONDS:
            return []
        self._looked_up_at = now
        before = datetime.now(UTC) - timedelta(seconds=_OLD_SECONDS)
        return [
            row_id
            for row_id, (submission, _) in itertools.islice(self._by_row.items(), _MOST_LOOKED_UP)
            if submission.accepted_at < before
        ]

    def settle(self, row_ids: Collection[int]) -> None:
        """The fate of these is final."""
        for row_id in row_ids:
            submission, transaction = self._by_row.get(row_id, (None, None))
            if submission is not None and transaction is not None:
                transaction.is_settled = True
                if all(each.is_settled for each in submission.transactions):
                    self._finish(submission)

    def stop(self) -> None:
        """No further round of any."""
        for submission in self._by_entry.values():
            submission.stop()

    def _see(self, seen: Seen) -> None:
        for signature, sighting in self._chain.saw(seen):
            for submission, transaction in self._by_signature.get(signature, ()):
                if transaction.sight(sighting, datetime.now(UTC)):
                    self._lands(submission, transaction)

    def _lands(self, submission: ActiveSubmission, transaction: ActiveTransaction) -> None:
        assert transaction.slot is not None
        submission.stop()
        self._by_slot.setdefault(transaction.slot, {})[transaction] = submission
        self._writer.changed(submission)
        if self._chain.is_confirmed(transaction.slot):
            self._confirm(transaction.slot)

    def _confirm(self, slot: int) -> None:
        for transaction, submission in self._by_slot.pop(slot, {}).items():
            if transaction.slot != slot:
                continue
            transaction.commitment = "confirmed"
            self._writer.changed(submission)
            if all(each.commitment == "confirmed" for each in submission.transactions):
                self._finish(submission)

    def _lose(self, slot: int) -> None:
        for transaction, submission in self._by_slot.pop(slot, {}).items():
            if submission.is_done or not transaction.lose(slot):
                continue
            self._writer.changed(submission)
            if transaction.slot is not None:
                self._lands(submission, transaction)
            elif not submission.is_on_chain:
                self._race.run(submission)

    def _slot_of(self, submission: ActiveSubmission, now: datetime) -> int | None:
        return self._chain.slot_at(_now() - _age(submission, now))

    def _leave_behind(self, finalized: int) -> None:
        """What stands in slots below a finalized one that nobody told confirmed. Those are of dead
        branches: who would have told so was started anew meanwhile, and knows nothing of them.
        """
        for slot in list(self._by_slot):
            if slot < finalized and not self._chain.is_confirmed(slot):
                self._lose(slot)

    def _place(self, transaction: ActiveTransaction) -> bool:
        """Its last valid height becomes as exact as is known now. Whether it is exact."""
        if transaction.is_nonced:
            transaction.is_placed = True
        else:
            transaction.is_placed = self._chain.knows(transaction.blockhash)
            if transaction.is_placed or transaction.last_valid is None:
                transaction.last_valid = self._chain.last_valid_height(transaction.blockhash)
        return transaction.is_placed

    def _had_its_tries(self, submission: ActiveSubmission) -> bool:
        """It was sent as often as it may be, and all of that is stored; it is watched still."""
        return not (
            submission.has_tries_left
            or submission.under_way
            or submission.is_dirty
            or submission.is_held
        )

    def _is_over(self, submission: ActiveSubmission, now: datetime) -> bool:
        """It can land no more, as far as is known; or lies as deep as we look."""
        if submission.is_on_chain:
            return all(each.commitment == "confirmed" for each in submission.transactions)
        age = _age(submission, now)
        if submission.is_nonced:
            return age > self._nonce_patience_seconds
        last = submission.last_valid
        if last is not None and self._chain.confirmed_height > last:
            return True
        # Nobody tells how far the chain is: then the clock must do.
        return age > _BLIND_SECONDS and (
            last is None or self._chain.silent_for(_now()) > _SILENCE_SECONDS
        )

    def _finish(self, submission: ActiveSubmission) -> None:
        submission.is_done = True
        submission.stop()
        self._writer.changed(submission)

    def _drop(self, submission: ActiveSubmission) -> None:
        self._writer.forget(submission)
        if self._by_entry.get(submission.entry_id) is not submission:
            return  # an answer came after it was dropped, and is stored now
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
            if (
                transaction.row_id is not None
                and self._by_row.get(transaction.row_id, (None, None))[1] is transaction
            ):
                del self._by_row[transaction.row_id]
            for slot in transaction.sightings:
                self._by_slot.get(slot, {}).pop(transaction, None)


def _age(submission: ActiveSubmission, now: datetime) -> float:
    return (now - submission.accepted_at).total_seconds()


def _now() -> float:
    return asyncio.get_running_loop().time()
