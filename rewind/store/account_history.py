"""An account's rows for staff, newest first, through the ORM: no request waits for them."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from django.db.models import F, Func, IntegerField, QuerySet
from solders.pubkey import Pubkey

from chain.blocks import Granularity
from chain.slot_ranges import SlotRange
from rewind.models import AccountChange, AccountSegment, ArchivedSlot
from rewind.positions import Position
from rewind.store import partition_cache, partitions, segments

# Stored data that one page reads, but for its first row.
_MOST_BYTES = 32 << 20


class Write(NamedTuple):
    """A row without its data; `digest` is the data's SHA-256. A base is a snapshot's state, or
    one that is carried over from slots that left the window.
    """

    place: Position
    is_base: bool
    lamports: int
    owner: Pubkey
    executable: bool
    rent_epoch: int
    length: int
    digest: bytes


def newest_writes(
    pubkey: Pubkey, window: SlotRange, *, before: Position | None, limit: int
) -> list[Write]:
    """Rows in the window, strictly before a position; fewer than `limit` also where their data is
    too large to be read at once.
    """
    rows = AccountChange.objects.filter(pubkey=pubkey)
    if before is not None:
        rows = rows.filter(pk__lt=(pubkey, *before))
        window = SlotRange(window.first, min(window.last, before.slot))
    size = Func(F("data"), function="octet_length", output_field=IntegerField())
    found = chain.from_iterable(
        rows.filter(slot__range=(part.first, part.last))
        .order_by("-slot", "-position")
        .values_list("slot", "position", size)[:limit]
        for part in _parts_with(pubkey, window)
    )
    places = list(_within(islice(found, limit)))
    chosen = AccountChange.objects.filter(pk__in=[(pubkey, *place) for place in places])
    return list(map(_write, _ordered(chosen).iterator(chunk_size=limit))) if places else []


def row_at(pubkey: Pubkey, place: Position) -> AccountChange | None:
    """The row with its data and its owner."""
    found = AccountChange.objects.filter(pk=(pubkey, *place))
    return found.select_related("owner").first()


def coarse_among(slots: Iterable[int]) -> set[int]:
    """Those of the slots of which the archive may have each account's last write alone."""
    found = ArchivedSlot.objects.filter(slot__in=set(slots), granularity=Granularity.SLOT)
    return set(found.values_list("slot", flat=True))


def _parts_with(pubkey: Pubkey, window: SlotRange) -> Iterator[SlotRange]:
    """The window's segments in which the account may have rows, newest first: those that the index
    names, and those that are not indexed yet.
    """
    indexed = segments.progress().indexed
    stored = {partition_cache.segment_of(each.first) for each in partitions.existing()}
    named = set(
        AccountSegment.objects.filter(
            pubkey=pubkey,
            segment__gte=partition_cache.segment_of(window.first),
            segment__lte=partition_cache.segment_of(window.last),
        ).values_list("segment", flat=True)
    )
    for number in sorted(stored, reverse=True):
        first = number * partition_cache.SEGMENT_SLOTS
        part = SlotRange(
            max(first, window.first), min(first + partition_cache.SEGMENT_SLOTS - 1, window.last)
        )
        if part.size > 0 and (number >= indexed or number in named):
            yield part


def _within(found: Iterable[Sequence[int]]) -> Iterator[Position]:
    left = _MOST_BYTES
    for number, (slot, position, size) in enumerate(found):
        left -= size
        if left < 0 and number:
            return
        yield Position(slot, position)


def _ordered(rows: QuerySet[AccountChange]) -> QuerySet[AccountChange]:
    return rows.select_related("owner").order_by("-slot", "-position")


def _write(row: AccountChange) -> Write:
    return Write(
        place=Position(row.slot, row.position),
        is_base=row.kind == AccountChange.Kind.BASE,
        lamports=row.lamports,
        owner=row.owner.pubkey,
        executable=row.executable,
        rent_epoch=row.rent_epoch,
        length=len(row.data),
        digest=hashlib.sha256(row.data).digest(),
    )
