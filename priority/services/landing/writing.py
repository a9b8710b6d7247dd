"""The writer: rows of flights in batches, and who waits for an answer until they are stored."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import psycopg
from django.db import DataError, IntegrityError, connection, transaction

from chain.transaction_errors import transaction_error_bytes
from priority.services.announcing import FateChange, announce
from priority.services.landing.chain_view import Sighting
from priority.services.landing.flights import ON_CHAIN, Flight, Part, Try
from priority.services.landing.rows import (
    attempt_rows,
    bundle_row,
    change_of,
    err_json,
    submission_rows,
)
from priority.store import submissions as store
from priority.store.submissions import (
    AttemptRow,
    BundleRow,
    StoredSubmission,
    SubmissionChange,
    SubmissionRow,
)
from priority.submissions import State, queue_milliseconds
from shared_state import counters
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

_GATHERING_SECONDS = 0.06
# A batch costs as much as some forty rows: where many come, they are gathered for longer.
_MANY, _LONGER_SECONDS = 20, 0.1
_MOST_FLIGHTS = 500
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 5.0

# Values that the tables do not take: trying again does not help.
_UNSTORABLE = (DataError, IntegrityError, psycopg.DataError, psycopg.IntegrityError)

# What of a part is told to callers when it changes.
_Told = tuple[State, str, int | None, str]


@dataclass(slots=True)
class _Batch:
    """Rows of some flights, as they were at one moment."""

    flights: list[Flight]
    tries: list[list[Try]] = field(default_factory=list)
    bundles: list[BundleRow] = field(default_factory=list)
    changed_bundles: list[BundleRow] = field(default_factory=list)
    new: list[tuple[SubmissionRow, str]] = field(default_factory=list)
    changes: list[SubmissionChange] = field(default_factory=list)
    attempts: list[tuple[bytes, AttemptRow]] = field(default_factory=list)
    ids: dict[bytes, int] = field(default_factory=dict)
    told: dict[bytes, FateChange] = field(default_factory=dict)


class _Written(NamedTuple):
    """What became of a batch: primary keys by signature, rows that were there before, and of the
    changed ones those whose fate was settled meanwhile.
    """

    ids: dict[bytes, int]
    others: list[StoredSubmission]
    settled: set[int]


class Writer:
    """`changed` notes a flight; it is written within a moment, and `written` is called with it.
    `database` is the one thread that has the connection.
    """

    def __init__(self, database: ThreadPoolExecutor, written: Callable[[Flight], None]) -> None:
        self._database = database
        self._written = written
        self._changed: dict[Flight, None] = {}
        self._something = asyncio.Event()
        self._told: dict[bytes, _Told] = {}
        self._is_stopping = False
        self.is_away = False

    def changed(self, flight: Flight) -> None:
        flight.is_dirty = True
        self._changed[flight] = None
        self._something.set()

    def forget(self, flight: Flight) -> None:
        """It needs no more care."""
        self._changed.pop(flight, None)
        for part in flight.parts:
            self._told.pop(part.signature, None)

    @property
    def waiting(self) -> int:
        return len(self._changed)

    def stop(self) -> None:
        """What waits is written, and no more."""
        self._is_stopping = True
        self._something.set()

    async def run(self) -> None:
        """Until `stop`, and then until nothing waits."""
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
        """Writes some of what waits. Whether that could be done."""
        flights = list(self._changed)[:_MOST_FLIGHTS]
        if not flights:
            return True
        try:
            await self._write(flights)
        except _UNSTORABLE:
            for flight in flights:  # one of them is to blame
                try:
                    await self._write([flight])
                except _UNSTORABLE:
                    log.exception("a submission cannot be stored; it is sent all the same")
                    flight.is_stored = True  # as far as can be
                    self._written(flight)
        except AWAY as error:
            if not self.is_away:
                log.warning("waiting for the database: %s", str(error).strip())
            self.is_away = True
            return False
        if self.is_away:
            log.info("the database answers again")
            self.is_away = False
        return True

    async def _write(self, flights: list[Flight]) -> None:
        batch = self._batch(flights)
        for flight in flights:
            self._changed.pop(flight, None)
        loop = asyncio.get_running_loop()
        try:
            written = await loop.run_in_executor(self._database, _store, batch)
        except BaseException:
            for flight, tries in zip(batch.flights, batch.tries, strict=True):
                flight.unwritten[:0] = tries
                self.changed(flight)
            for signature in batch.told:
                self._told.pop(signature, None)
            raise
        self._take(batch, written)

    def _batch(self, flights: list[Flight]) -> _Batch:
        batch = _Batch(flights)
        now = datetime.now(UTC)
        for flight in flights:
            flight.is_dirty = False
            batch.attempts += attempt_rows(flight)
            batch.tries.append(flight.unwritten)
            flight.unwritten = []
            if flight.is_bundle:
                (batch.changed_bundles if flight.is_stored else batch.bundles).append(
                    bundle_row(flight)
                )
            if not flight.is_stored:
                bundle_id = flight.accepted.bundle_id if flight.is_bundle else ""
                batch.new += [(row, bundle_id) for row in submission_rows(flight)]
            for part in flight.parts:
                if part.row_id is not None:
                    batch.ids[part.signature] = part.row_id
                    batch.changes.append(change_of(flight, part))
                told = (part.state, part.commitment, part.slot, part.reason)
                if self._told.get(part.signature) != told and not part.is_settled:
                    self._told[part.signature] = told
                    batch.told[part.signature] = _fate(flight, part, now)
        return batch

    def _take(self, batch: _Batch, written: _Written) -> None:
        others = {each.signature: each for each in written.others}
        for flight in batch.flights:
            is_new = not flight.is_stored
            for part in flight.parts:
                if part.row_id is None:
                    stored = others.get(part.signature)
                    part.row_id = written.ids.get(part.signature)
                    if stored is not None:
                        part.row_id = stored.id
                        _merge(flight, part, stored)
                elif part.row_id in written.settled:
                    part.is_settled = True
            flight.is_stored = True
            if is_new and any(part.signature in others for part in flight.parts):
                self.changed(flight)
            self._written(flight)


def _merge(flight: Flight, part: Part, stored: StoredSubmission) -> None:
    """The row was there: what another lander did before us counts."""
    if stored.settled_at is not None:
        part.is_settled = True
        return
    # A try of which no answer is known may never have left the lander that is gone.
    if part is flight.parts[0] and (stored.sent_at is not None or stored.reason):
        flight.tries += stored.tries
    part.sent_at = stored.sent_at or part.sent_at
    if part.state is State.RECEIVED:
        part.reason = part.reason or stored.reason
        if part.sent_at is not None:
            part.state, part.reason = State.SENT, ""
    if stored.state in ON_CHAIN and stored.slot is not None and part.slot is None:
        err = None if stored.err is None else transaction_error_bytes(stored.err)
        index = stored.transaction_index or 0
        part.sight(Sighting(stored.slot, index, err), stored.seen_at or datetime.now(UTC))
        part.commitment = stored.commitment


def _fate(flight: Flight, part: Part, now: datetime) -> FateChange:
    accepted = flight.accepted
    return FateChange(
        key_id=accepted.key_id,
        signature=part.signature,
        state=part.state,
        commitment=part.commitment,
        slot=part.slot,
        transaction_index=part.index,
        err=err_json(part.error),
        reason=part.reason[:200],
        settled=False,
        at=now,
        bundle_id=accepted.bundle_id,
        queue_ms=queue_milliseconds(flight.accepted_at, part.sent_at),
    )


def _store(batch: _Batch) -> _Written:
    """In the database's thread."""
    try:
        with transaction.atomic():
            store.commit_durably()
            bundles = store.insert_bundles(batch.bundles)
            for row, bundle_id in batch.new:
                row.bundle_id = bundles.get(bundle_id)
            ids, others = store.insert_submissions([row for row, _ in batch.new])
            changed = store.change_submissions(batch.changes)
            store.change_bundles(batch.changed_bundles)
            known = {**batch.ids, **ids, **{each.signature: each.id for each in others}}
            attempts = [
                row._replace(submission_id=known[signature])
                for signature, row in batch.attempts
                if signature in known
            ]
            if attempts:
                store.copy_attempts(attempts)
    except AWAY:
        connection.close()
        raise
    settled = {change.id for change in batch.changes} - changed
    told = dict(batch.told)
    for signature, row_id in batch.ids.items():
        if row_id in settled:
            told.pop(signature, None)
    for each in others:
        told.pop(each.signature, None)
    announce(list(told.values()))
    counts: Counter[counters.CounterName] = Counter(
        (counters.ATTEMPTS, row.upstream, row.outcome) for row in attempts
    )
    counts[(counters.SUBMISSIONS, State.RECEIVED.value)] = len(ids)
    counters.add(counts)
    return _Written(ids, others, settled)
