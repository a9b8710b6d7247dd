"""Flights of a lander: what comes in, what the chain says of it, and when it needs no more care."""

import asyncio
import itertools
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from priority.chain_events import BlockMade, ChainEvent, Seen, SlotMoved
from priority.services.landing.chain_view import Chain
from priority.services.landing.flights import Flight, Part, flight_of
from priority.services.landing.racing import Race
from priority.services.landing.writing import Writer
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
# What another lander had waits so long for its row, which says what was tried.
_HELD_SECONDS = 1.0


class Flights:
    """All that this lander has in flight."""

    def __init__(
        self, chain: Chain, race: Race, writer: Writer, *, nonce_patience_seconds: int
    ) -> None:
        self._chain = chain
        self._race = race
        self._writer = writer
        self._nonce_patience_seconds = nonce_patience_seconds
        self._by_entry: dict[bytes, Flight] = {}
        self._by_signature: dict[bytes, list[tuple[Flight, Part]]] = {}
        self._by_slot: dict[int, dict[Part, Flight]] = {}
        self._by_row: dict[int, tuple[Flight, Part]] = {}
        # Flights with a blockhash whose height is not known yet.
        self._unplaced: dict[Flight, None] = {}
        self._swept_at = 0.0
        self._unswept: list[Flight] = []
        self._looked_up_at = 0.0

    def __len__(self) -> int:
        return len(self._by_entry)

    def take(self, entry_id: bytes, packed: bytes, again: bool) -> None:
        """An entry of the stream goes out; one that somebody had before when its row is known.
        Raises ValueError for what is none.
        """
        if entry_id in self._by_entry:
            return
        flight = flight_of(entry_id, unpack(packed))
        self._by_entry[entry_id] = flight
        for part in flight.parts:
            self._by_signature.setdefault(part.signature, []).append((flight, part))
            part.accepted_slot = self._slot_of(flight, datetime.now(UTC))
            if not self._place(part):
                self._unplaced[flight] = None
            sighting = self._chain.sighting(part.signature)
            if sighting is not None and part.sight(sighting, datetime.now(UTC)):
                self._lands(flight, part)
        if again:
            flight.hold(_HELD_SECONDS, self._race.run)
        else:
            self._race.run(flight)
        self._writer.changed(flight)

    def hear(self, happenings: list[ChainEvent], at: float) -> None:
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

    def written(self, flight: Flight) -> bool:
        """Its rows are stored as it was a moment ago. Whether its entry can go."""
        for part in flight.parts:
            if part.row_id is not None:
                self._by_row[part.row_id] = (flight, part)
        if all(part.is_settled for part in flight.parts):
            flight.is_done = True
            flight.stop()
        elif flight.is_held:
            flight.is_held = False
            self._race.run(flight)
        is_over = flight.is_done and not flight.is_dirty
        if is_over:
            self._drop(flight)
        if flight.is_acked or not (is_over or self._had_its_tries(flight)):
            return False
        flight.is_acked = True
        return True

    def sweep(self, now: datetime) -> list[bytes]:
        """Places what came without a place. Blockhashes whose heights others may know."""
        missing: dict[bytes, None] = {}
        for flight in list(self._unplaced):
            before = [(part.accepted_slot, part.last_valid) for part in flight.parts]
            for part in flight.parts:
                if part.accepted_slot is None:
                    part.accepted_slot = self._slot_of(flight, now)
                if not part.is_placed and not self._place(part):
                    missing[part.blockhash] = None
            if before != [(part.accepted_slot, part.last_valid) for part in flight.parts]:
                self._writer.changed(flight)
            if all(part.is_placed for part in flight.parts) or _age(flight, now) > _OLD_SECONDS:
                del self._unplaced[flight]
        return list(missing)

    def let_go(self, now: datetime) -> bool:
        """Lets go of some of what is over. Whether there is more to look at."""
        if not self._unswept:
            if _now() - self._swept_at < _SWEEP_SECONDS:
                return False
            self._swept_at = _now()
            self._unswept = list(self._by_entry.values())
        for flight in self._unswept[-_SWEPT_AT_ONCE:]:
            if not flight.is_done and self._is_over(flight, now):
                self._finish(flight)
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
            for row_id, (flight, _) in itertools.islice(self._by_row.items(), _MOST_LOOKED_UP)
            if flight.accepted_at < before
        ]

    def settle(self, row_ids: Collection[int]) -> None:
        """The fate of these is final."""
        for row_id in row_ids:
            flight, part = self._by_row.get(row_id, (None, None))
            if flight is not None and part is not None:
                part.is_settled = True
                if all(each.is_settled for each in flight.parts):
                    self._finish(flight)

    def stop(self) -> None:
        """No further round of any."""
        for flight in self._by_entry.values():
            flight.stop()

    def _see(self, seen: Seen) -> None:
        for signature, sighting in self._chain.saw(seen):
            for flight, part in self._by_signature.get(signature, ()):
                if part.sight(sighting, datetime.now(UTC)):
                    self._lands(flight, part)

    def _lands(self, flight: Flight, part: Part) -> None:
        assert part.slot is not None
        flight.stop()
        self._by_slot.setdefault(part.slot, {})[part] = flight
        self._writer.changed(flight)
        if self._chain.is_confirmed(part.slot):
            self._confirm(part.slot)

    def _confirm(self, slot: int) -> None:
        for part, flight in self._by_slot.pop(slot, {}).items():
            if part.slot != slot:
                continue
            part.commitment = "confirmed"
            self._writer.changed(flight)
            if all(each.commitment == "confirmed" for each in flight.parts):
                self._finish(flight)

    def _lose(self, slot: int) -> None:
        for part, flight in self._by_slot.pop(slot, {}).items():
            if flight.is_done or not part.lose(slot):
                continue
            self._writer.changed(flight)
            if part.slot is not None:
                self._lands(flight, part)
            elif not flight.is_on_chain:
                self._race.run(flight)

    def _slot_of(self, flight: Flight, now: datetime) -> int | None:
        return self._chain.slot_at(_now() - _age(flight, now))

    def _leave_behind(self, finalized: int) -> None:
        """What stands in slots below a finalized one that nobody told confirmed. Those are of dead
        branches: who would have told so was started anew meanwhile, and knows nothing of them.
        """
        for slot in list(self._by_slot):
            if slot < finalized and not self._chain.is_confirmed(slot):
                self._lose(slot)

    def _place(self, part: Part) -> bool:
        """Its last valid height becomes as exact as is known now. Whether it is exact."""
        if part.is_nonced:
            part.is_placed = True
        else:
            part.is_placed = self._chain.knows(part.blockhash)
            if part.is_placed or part.last_valid is None:
                part.last_valid = self._chain.last_valid_height(part.blockhash)
        return part.is_placed

    def _had_its_tries(self, flight: Flight) -> bool:
        """It was sent as often as it may be, and all of that is stored; it is watched still."""
        return not (flight.has_tries_left or flight.under_way or flight.is_dirty or flight.is_held)

    def _is_over(self, flight: Flight, now: datetime) -> bool:
        """It can land no more, as far as is known; or lies as deep as we look."""
        if flight.is_on_chain:
            return all(part.commitment == "confirmed" for part in flight.parts)
        age = _age(flight, now)
        if flight.is_nonced:
            return age > self._nonce_patience_seconds
        last = flight.last_valid
        if last is not None and self._chain.confirmed_height > last:
            return True
        # Nobody tells how far the chain is: then the clock must do.
        return age > _BLIND_SECONDS and (
            last is None or self._chain.silent_for(_now()) > _SILENCE_SECONDS
        )

    def _finish(self, flight: Flight) -> None:
        flight.is_done = True
        flight.stop()
        self._writer.changed(flight)

    def _drop(self, flight: Flight) -> None:
        self._writer.forget(flight)
        if self._by_entry.get(flight.entry_id) is not flight:
            return  # an answer came after it was dropped, and is stored now
        del self._by_entry[flight.entry_id]
        self._unplaced.pop(flight, None)
        for part in flight.parts:
            others = [each for each in self._by_signature[part.signature] if each[1] is not part]
            if others:
                self._by_signature[part.signature] = others
            else:
                del self._by_signature[part.signature]
            if part.row_id is not None and self._by_row.get(part.row_id, (None, None))[1] is part:
                del self._by_row[part.row_id]
            for slot in part.sightings:
                self._by_slot.get(slot, {}).pop(part, None)


def _age(flight: Flight, now: datetime) -> float:
    return (now - flight.accepted_at).total_seconds()


def _now() -> float:
    return asyncio.get_running_loop().time()
