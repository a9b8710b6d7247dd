"""A writer that records, seals and removes blocks of a short chain, again and again, by the
service's own services, and notes what the ledger holds after each commit.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from hashlib import sha256, sha512
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from chain.blocks import CURRENT_FORM, Form, SlotRecord, TransactionRecord
from chain.encodings import b58encode
from chain.units import Slot, UnixTimestamp
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.services.sealing import seal_step
from ingest.services import retention
from ingest.services.slots import store_records
from tests.historical.races import Commit, State, Version

FIRST_SLOT = 7_000
SLOTS = 24
_FORKS, _FORMS = 2, 2
# One commit in some milliseconds, with reads between and beside them.
_PAUSE_SECONDS = 0.008
_FAILURE = {"InstructionError": [0, {"Custom": 1}]}


def signatures() -> list[str]:
    """Every signature that a block may hold."""
    return [b58encode(each) for each in dict.fromkeys(_every_signature())]


def _every_signature() -> Iterator[bytes]:
    for slot in range(FIRST_SLOT, FIRST_SLOT + SLOTS):
        for fork in range(_FORKS):
            yield from _held(slot, fork)


def _held(slot: int, fork: int) -> list[bytes]:
    """A transaction of the slot's own, which fails on one of the forks, and one that three
    neighbouring slots' second forks share: it moves when another fork is recorded.
    """
    own = sha512(b"own %d" % slot).digest()
    return [own, sha512(b"shared %d" % (slot // 3)).digest()] if fork else [own]


def record_of(slot: int, fork: int, form: int) -> SlotRecord:
    """The forms of one block differ in its text, not in its blockhash: a source of today, and one
    that knew neither lookups nor stack heights.
    """
    blockhash = sha256(b"%d %d" % (slot, fork)).digest()
    metas: list[dict[str, Any]] = [
        {
            "err": _FAILURE if fork and number == 0 else None,
            "fee": 5_000,
            "preBalances": [10_000],
            "postBalances": [5_000],
            "logMessages": [_mark(slot, fork, form), "Program log: " + "." * (40 * form)],
            **({} if form else {"loadedAddresses": {"writable": [], "readonly": []}}),
        }
        for number in range(len(_held(slot, fork)))
    ]
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(slot - 1),
        blockhash=b58encode(blockhash),
        previous_blockhash=b58encode(sha256(b"%d" % (slot - 1)).digest()),
        block_time=UnixTimestamp(_time(slot, fork)),
        block_height=slot - 100,
        transactions=[
            TransactionRecord(b"\1" + signature + b"\1\0\0\1" + bytes(32) + bytes(32) + b"\0", meta)
            for signature, meta in zip(_held(slot, fork), metas, strict=True)
        ],
        form=Form(0) if form else CURRENT_FORM,
    )


def _mark(slot: int, fork: int, form: int) -> str:
    return f"Program log: {slot} {fork} {form}"


def _time(slot: int, fork: int) -> int:
    return 1_700_000_000 + 10 * slot + fork


def version_of(slot: int, fork: int, form: int) -> Version:
    held = [b58encode(each) for each in _held(slot, fork)]
    return Version(
        slot=slot,
        blockhash=b58encode(sha256(b"%d %d" % (slot, fork)).digest()),
        time=_time(slot, fork),
        mark=_mark(slot, fork, form),
        transactions={
            each: json.dumps(_FAILURE) if fork and number == 0 else None
            for number, each in enumerate(held)
        },
    )


class Writer:
    """`commits` has what was committed so far, in order."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._state: State = {}
        # An empty ledger, and then a few blocks: before any read.
        self.commits = [Commit(0, 0, {}, "an empty ledger")]
        self._extend(SLOTS // 2)

    def run(self, *, until: Callable[[], bool]) -> None:
        actions = [
            *[self._extend] * 6,
            *[self._cut, self._expire, self._fill] * 3,
            *[self._record_anew, self._record_anew_at_once] * 3,
            self._roll_back,
            self._empty,
            *[self._seal] * 8,
        ]
        while not until():
            self._chance.choice(actions)()
            time.sleep(self._chance.expovariate(1 / _PAUSE_SECONDS))
        connection.close()

    def _commit(self, state: State, what: str, write: Callable[[], Any]) -> None:
        if self._chance.random() < 0.2:
            began = time.monotonic_ns()
            write()
        else:
            # As in an import's own transaction: nothing can be seen of it before its end, so that
            # few reads are beside it.
            with transaction.atomic():
                write()
                began = time.monotonic_ns()
        finished = time.monotonic_ns()
        self.commits.append(Commit(began, finished, state, what))
        self._state = state

    def _choose(self, slot: int) -> tuple[SlotRecord, Version]:
        fork, form = self._chance.randrange(_FORKS), self._chance.randrange(_FORMS)
        return record_of(slot, fork, form), version_of(slot, fork, form)

    def _extend(self, count: int = 0) -> None:
        """New blocks above the newest, one or several in a commit."""
        first = max(self._state, default=FIRST_SLOT + SLOTS // 3) + 1
        first += self._chance.random() < 0.2  # a slot is skipped, or comes later
        last = min(first + (count or self._chance.randint(1, 3)), FIRST_SLOT + SLOTS) - 1
        if last < first:
            return self._cut()
        chosen = [self._choose(slot) for slot in range(first, last + 1)]
        state = {**self._state, **{version.slot: version for _, version in chosen}}
        self._write(state, f"recorded {first} to {last}", [record for record, _ in chosen])

    def _write(self, state: State, what: str, records: list[SlotRecord]) -> None:
        """As an import does, or as the stream's slots are stored: these are in the archive, too,
        and it takes one fork only.
        """
        now = timezone.now()
        streamed = all(state[each.slot].time == _time(each.slot, 0) for each in records)
        if streamed and self._chance.random() < 0.5:
            self._commit(state, what, lambda: store_records(records, source="a stream", now=now))
        else:
            self._commit(state, what, lambda: record_blocks(records, now=now))

    def _remove(self, first: int, last: int) -> None:
        state = {slot: each for slot, each in self._state.items() if not first <= slot <= last}
        self._commit(state, f"removed {first} to {last}", lambda: remove_blocks(first, last))

    def _cut(self) -> None:
        """The newest blocks go."""
        if len(self._state) > 4:
            self._remove(max(self._state) - self._chance.randrange(6), max(self._state))

    def _expire(self) -> None:
        """The oldest blocks fall out of the kept window."""
        if len(self._state) <= 4:
            return
        kept = max(self._state) - min(self._state) + 1 - self._chance.randint(1, 3)
        state = {s: each for s, each in self._state.items() if s > max(self._state) - kept}
        self._commit(
            state,
            f"kept {kept} slots",
            lambda: retention.apply(archive_slots=0, ledger_slots=kept),
        )

    def _fill(self) -> None:
        """A slot without a block gets one: between others, or below the oldest."""
        lacking = set(range(FIRST_SLOT, max(self._state, default=FIRST_SLOT) + 1)) - set(
            self._state
        )
        if not lacking:
            return
        record, version = self._choose(self._chance.choice(sorted(lacking)))
        self._write({**self._state, version.slot: version}, f"filled {version.slot}", [record])

    def _any_slot(self) -> int | None:
        return self._chance.choice(sorted(self._state)) if self._state else None

    def _record_anew(self) -> None:
        """Another form or fork of a block, in two commits."""
        slot = self._any_slot()
        if slot is None:
            return
        self._remove(slot, slot)
        record, version = self._choose(slot)
        self._write({**self._state, slot: version}, f"recorded {slot} anew", [record])

    def _record_anew_at_once(self) -> None:
        """The same in one commit."""
        slot = self._any_slot()
        if slot is None:
            return
        record, version = self._choose(slot)

        def write() -> None:
            with transaction.atomic():
                remove_blocks(slot, slot)
                record_blocks([record], now=timezone.now())

        self._commit({**self._state, slot: version}, f"replaced {slot}", write)

    def _seal(self) -> None:
        """Some blocks are sealed, or a step further: it is no other state."""
        for _ in range(self._chance.randint(1, 4)):
            seal_step(
                range_slots=64,
                now=timezone.now(),
                settles=timedelta(seconds=-1),
                finished_below=FIRST_SLOT + self._chance.randrange(SLOTS + 1),
            )

    def _roll_back(self) -> None:
        """What was written and removed, and never committed, is no state."""
        slot = self._any_slot()
        if slot is None:
            return
        with transaction.atomic():
            remove_blocks(slot, max(self._state))
            record_blocks([self._choose(slot)[0]], now=timezone.now())
            transaction.set_rollback(True)

    def _empty(self) -> None:
        if self._chance.random() < 0.2 and self._state:
            self._remove(min(self._state), max(self._state))
            self._extend(SLOTS // 2)
