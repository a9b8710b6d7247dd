"""Refuted slots are compared with the followed streams without being asked for: once each."""

from collections.abc import Iterator
from datetime import datetime

from chain.slot_ranges import SlotRange
from chain.units import I64_MAX
from ingest.errors import ActionRefused
from ingest.models import RangeOrder
from ingest.services import orders
from ingest.sources import streams
from ingest.store import orders as store
from rewind.proof.services import locating

BY_ITSELF = "the proof"
# A chain of slots is not followed above a refuted one: there are never many.
_AT_ONCE = 100


def is_due() -> bool:
    """Whether a refuted slot was not compared yet."""
    return any(_not_compared())


def ask(*, now: datetime) -> None:
    """Orders for them; a slot in which another order is open waits for its end."""
    for slot in _not_compared():
        try:
            orders.ask(
                RangeOrder.Kind.LOCATE,
                SlotRange(slot, slot),
                archive=True,
                ledger=False,
                source=orders.STREAM,
                asked_by=BY_ITSELF,
                now=now,
            )
        except ActionRefused:
            continue


def _not_compared() -> Iterator[int]:
    slots = locating.refuted_between(0, I64_MAX - 1, limit=_AT_ONCE)
    if slots and streams():
        done = store.ordered_among(RangeOrder.Kind.LOCATE, slots, asked_by=BY_ITSELF)
        yield from (slot for slot in slots if slot not in done)
