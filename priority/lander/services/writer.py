"""Writes rows of submissions and attempts in batches."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

import psycopg
from django.db import DataError, IntegrityError
from django.db.transaction import atomic

from priority.fates.services.announcing import FateChange, announce
from priority.fates.services.notices import once_each, publish_stopped, shared
from priority.fates.services.settling import publish_late
from priority.lander.chain_view import Sighting
from priority.lander.services.active_submissions import (
    ON_CHAIN,
    ActiveSubmission,
    ActiveTransaction,
    NewAttempt,
)
from priority.lander.services.rows import (
    attempt_rows,
    bundle_row,
    change_of,
    err_json,
    packed_err,
    submission_rows,
)
from priority.lander.store import submissions as store
from priority.lander.store.submissions import (
    AttemptRow,
    BundleRow,
    Place,
    StoredSubmission,
    SubmissionChange,
    SubmissionRow,
)
from priority.submissions import State, queue_milliseconds
from shared_state import counters
from shared_state.database_threads import DatabaseThreads
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_GATHERING_SECONDS = 0.06
# A batch costs as much as some forty rows: under load it is gathered for longer.
_MANY, _LONGER_SECONDS = 20, 0.1
_MOST_SUBMISSIONS = 500
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 5.0

# Values that the tables refuse: a retry does not help.
_UNSTORABLE = (DataError, IntegrityError, psycopg.DataError, psycopg.IntegrityError)

# The fields of a transaction whose changes are announced to callers.
_Announced = tuple[State, str, int | None, str, str]


@dataclass(slots=True)
class _Batch:
    """The rows to write for some submissions."""

    submissions: list[ActiveSubmission]
    tries: list[list[NewAttempt]] = field(default_factory=list)
    bundles: list[BundleRow] = field(default_factory=list)
    changed_bundles: list[BundleRow] = field(default_factory=list)
    new: list[tuple[SubmissionRow, str]] = field(default_factory=list)
    changes: list[SubmissionChange] = field(default_factory=list)
    attempts: list[tuple[bytes, AttemptRow]] = field(default_factory=list)
    announced: dict[bytes, FateChange] = field(default_factory=dict)


class _Written(NamedTuple):
    """The result of a batch: rows that existed before; and of what was to be changed, what was
    settled meanwhile, and what has no row any more.
    """

    others: list[StoredSubmission]
    settled: set[bytes]
    lost: set[bytes]


class Writer:
    """`changed` schedules a submission for writing; `written` is called with it afterwards.
    `database` is the one thread with the connection.
    """

    def __init__(
        self, database: DatabaseThreads, written: Callable[[ActiveSubmission], None]
    ) -> None:
        self._database = database
        self._written = written
        self._changed: dict[ActiveSubmission, None] = {}
        self._something = asyncio.Event()
        self._announced: dict[bytes, _Announced] = {}
        self._is_stopping = False
        self.is_away = False

    def changed(self, submission: ActiveSubmission) -> None:
        submission.is_dirty = True
        self._changed[submission] = None
        self._something.set()

    def forget(self, submission: ActiveSubmission) -> None:
        """Forgets a submission that is over."""
        self._changed.pop(submission, None)
        for transaction in submission.transactions:
            self._announced.pop(transaction.signature, None)

    @property
    def waiting(self) -> int:
        return len(self._changed)

    def stop(self) -> None:
        """Writes what is scheduled, then ends `run`."""
        self._is_stopping = True
        self._something.set()

    async def run(self) -> None:
        """Runs until `stop`, and then until nothing is left to write."""
        pause = _FIRST_PAUSE_SECONDS
        while self._changed or not self._is_stopping:
            await self._something.wait()
            await asyncio.sleep(_GATHERING_SECONDS)
            if len(self._changed) > _MANY and not self._is_stopping:
                await asyncio.sleep(_LONGER_SECONDS)
            self._something.clear()
            while self._changed:
                if await self.flush():
                    pause = _FIRST_PAUSE_SECONDS
                else:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def flush(self) -> bool:
        """Writes some of what is scheduled. Returns whether that succeeded."""
        submissions = self._next()
        if not submissions:
            return True
        try:
            try:
                await self._write(submissions)
            except _UNSTORABLE:
                await self._write_each(submissions)
        except AWAY as error:
            if not self.is_away:
                log.warning("waiting for the database: %s", str(error).strip())
            self.is_away = True
            return False
        if self.is_away:
            log.info("the database answers again")
            self.is_away = False
        return True

    async def _write_each(self, submissions: list[ActiveSubmission]) -> None:
        """One of them cannot be stored."""
        for submission in submissions:
            try:
                await self._write([submission])
            except _UNSTORABLE:
                log.exception("a submission cannot be stored; it is sent all the same")
                submission.is_stored, submission.is_storable = True, False
                self._written(submission)

    def _next(self) -> list[ActiveSubmission]:
        """Some of what is scheduled, with each transaction once: a statement cannot write its row
        twice. It may be submitted alone and in bundles.
        """
        found: list[ActiveSubmission] = []
        signatures: set[bytes] = set()
        for submission in islice(self._changed, _MOST_SUBMISSIONS):
            own = {each.signature for each in submission.transactions}
            if signatures.isdisjoint(own):
                found.append(submission)
                signatures |= own
        return found

    async def _write(self, submissions: list[ActiveSubmission]) -> None:
        batch = self._batch(submissions)
        for submission in submissions:
            self._changed.pop(submission, None)
        try:
            written = await self._database.run(_store, batch)
        except BaseException:
            for submission, tries in zip(batch.submissions, batch.tries, strict=True):
                submission.unwritten[:0] = tries
                self.changed(submission)
            for signature in batch.announced:
                self._announced.pop(signature, None)
            raise
        self._take(batch, written)

    def _batch(self, submissions: list[ActiveSubmission]) -> _Batch:
        batch = _Batch(submissions)
        now = datetime.now(UTC)
        for submission in submissions:
            submission.is_dirty = False
            batch.attempts += attempt_rows(submission)
            batch.tries.append(submission.unwritten)
            submission.unwritten = []
            if not submission.is_storable:
                continue
            if submission.is_bundle:
                (batch.changed_bundles if submission.is_stored else batch.bundles).append(
                    bundle_row(submission)
                )
            if not submission.is_stored:
                bundle_id = submission.accepted.bundle_id if submission.is_bundle else ""
                batch.new += [(row, bundle_id) for row in submission_rows(submission)]
            for transaction in submission.transactions:
                if submission.is_stored:
                    batch.changes.append(change_of(submission, transaction))
                state = (
                    transaction.state,
                    transaction.commitment,
                    transaction.slot,
                    transaction.reason,
                    transaction.stopped,
                )
                if (
                    self._announced.get(transaction.signature) != state
                    and not transaction.is_settled
                ):
                    self._announced[transaction.signature] = state
                    batch.announced[transaction.signature] = _fate(submission, transaction, now)
        return batch

    def _take(self, batch: _Batch, written: _Written) -> None:
        others = {each.signature: each for each in written.others}
        if written.lost:
            # A standby took over that had not received them.
            log.warning("%d submissions have no row any more, and get one", len(written.lost))
        for submission, tries in zip(batch.submissions, batch.tries, strict=True):
            if any(each.signature in written.lost for each in submission.transactions):
                submission.is_stored = False
                submission.unwritten[:0] = tries
                self.changed(submission)
                continue
            is_new = not submission.is_stored
            for transaction in submission.transactions:
                if is_new and (stored := others.get(transaction.signature)) is not None:
                    _merge(submission, transaction, stored)
                elif transaction.signature in written.settled:
                    transaction.is_settled = True
            submission.is_stored = True
            if is_new and any(each.signature in others for each in submission.transactions):
                self.changed(submission)
            self._written(submission)


def _merge(
    submission: ActiveSubmission, transaction: ActiveTransaction, stored: StoredSubmission
) -> None:
    """Merges the row that another lander wrote before."""
    if stored.settled_at is not None:
        transaction.is_settled = True
        return
    is_own = stored.key_id == submission.accepted.key_id
    # An attempt without an answer may never have left the lander that is gone.
    is_tried = is_own and (stored.sent_at is not None or stored.reason)
    if transaction is submission.transactions[0] and is_tried:
        submission.tries += stored.tries
    transaction.sent_at = stored.sent_at or transaction.sent_at
    if transaction.state is State.RECEIVED:
        transaction.reason = transaction.reason or (stored.reason if is_own else "")
        if transaction.sent_at is not None:
            transaction.state, transaction.reason = State.SENT, ""
    if stored.state in ON_CHAIN and stored.slot is not None and transaction.slot is None:
        sighting = Sighting(stored.slot, stored.transaction_index or 0, packed_err(stored.err))
        transaction.sight(sighting, stored.seen_at or datetime.now(UTC))
        transaction.commitment = stored.commitment


def _fate(
    submission: ActiveSubmission, transaction: ActiveTransaction, now: datetime
) -> FateChange:
    accepted = submission.accepted
    return FateChange(
        key_id=accepted.key_id,
        signature=transaction.signature,
        state=transaction.state,
        commitment=transaction.commitment,
        slot=transaction.slot,
        transaction_index=transaction.index,
        err=err_json(transaction.error),
        reason=transaction.reason[:200],
        settled=False,
        at=now,
        bundle_id=accepted.bundle_id,
        queue_ms=queue_milliseconds(submission.accepted_at, transaction.sent_at),
        stopped=transaction.stopped[:200],
    )


def _of_open(
    batch: _Batch,
    settled: Collection[bytes],
    others: Iterable[StoredSubmission],
    changed: Mapping[bytes, Place],
) -> list[FateChange]:
    """The batch's changes without those of submissions that are settled, another's, or, by another
    one with the same transaction, further.
    """
    left_out = {*settled, *(each.signature for each in others)}
    for signature, place in changed.items():
        each = batch.announced.get(signature)
        if each and (each.state, each.commitment, each.slot) != place[2:]:
            left_out.add(signature)
    return [each for signature, each in batch.announced.items() if signature not in left_out]


def _publish_late(batch: _Batch, others: Iterable[StoredSubmission]) -> None:
    """To those who submit what was settled before. The insert has locked its row."""
    settled = {each.signature for each in others if each.settled_at is not None}
    keys = {bytes.fromhex(row.signature): row.key_id for row, _ in batch.new}
    late = {name: key_id for name, key_id in keys.items() if name in settled and key_id is not None}
    if late:
        publish_late(late, now=datetime.now(UTC))


def _places(rows: Iterable[StoredSubmission]) -> dict[bytes, Place]:
    return {each.signature: Place(each.id, each.key_id) for each in rows}


def _placed(row: AttemptRow, place: Place) -> AttemptRow:
    """The attempt at its row, whose key need not be the one that it was made for."""
    made_for = None if row.made_for == place.key_id else row.made_for or 0
    return row._replace(submission_id=place.id, made_for=made_for)


def _store(batch: _Batch) -> _Written:
    """Runs in the database thread."""
    with atomic():
        store.commit_durably()
        bundles = store.insert_bundles(batch.bundles)
        for row, bundle_id in batch.new:
            row.bundle_id = bundles.get(bundle_id)
        ids, others = store.insert_submissions([row for row, _ in batch.new])
        _publish_late(batch, others)
        changed = store.change_submissions(batch.changes)
        unchanged = {bytes.fromhex(each.signature) for each in batch.changes} - changed.keys()
        settled = _places(store.stored_submissions(list(unchanged)))
        store.change_bundles(batch.changed_bundles)
        keys = {bytes.fromhex(row.signature): row.key_id for row, _ in batch.new}
        new = {signature: Place(pk, keys[signature]) for signature, pk in ids.items()}
        known = {**changed, **settled, **new, **_places(others)}
        attempts = [
            _placed(row, known[signature])
            for signature, row in batch.attempts
            if signature in known
        ]
        store.copy_attempts(attempts)
        announced = _of_open(batch, settled, others, changed)
        announced += once_each(shared(announced))
        publish_stopped(announced)
    announce(announced)
    counts: Counter[counters.CounterName] = Counter(
        (counters.ATTEMPTS, row.upstream, row.outcome) for row in attempts
    )
    counts[(counters.SUBMISSIONS, State.RECEIVED.value)] = len(ids)
    counters.add(counts)
    return _Written(others, set(settled), unchanged - settled.keys())
