"""Reads of sealed changes: which block may hold a change, and what it says."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from columns.clusters import is_clustered
from columns.packed_data import as_stored
from columns.raw_queries import Query, fetch_all, fetch_together
from rewind.accounts.store import marks
from rewind.positions import Position
from rewind.recording.store import owners
from rewind.recording.store.partitions import Sealed
from rewind.sealed.packing.body import Body
from rewind.sealed.packing.changes import Change
from rewind.sealed.store import open_blocks

_NEWEST_BLOCK = (
    "SELECT {columns} FROM rewind_sealedblock WHERE segment_id = s.id"
    " AND (pubkey, slot, position) <= ({pubkey}, {slot}, {position})"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1"
)
# Of the account $1 at the position ($2, $3): of each of the segments $4 the block that may have it.
# With it comes what filters say of the account and of owners now.
_OF_ONE = (
    "SELECT s.id, b.id, b.block, ARRAY(SELECT id FROM rewind_owner WHERE filtered),"
    " EXISTS (SELECT FROM rewind_filteredpubkey WHERE pubkey = $1), d.first_slot, d.last_slot"
    " FROM unnest((SELECT $4)) WITH ORDINALITY AS s (id, number)"
    " LEFT JOIN rewind_droppedaccount AS d ON d.pubkey = $1, LATERAL ("
    + _NEWEST_BLOCK.format(columns="id, block", pubkey="$1", slot="$2", position="$3")
    + ") AS b ORDER BY s.number"
)
# The block alone, of a lone segment $4; with it, which owners are filtered.
BLOCK = _NEWEST_BLOCK.format(columns="id, block", pubkey="$1", slot="$2", position="$3").replace(
    "s.id", "$4"
)
BLOCK_COLUMNS = "block.id, block.block, ARRAY(SELECT id FROM rewind_owner WHERE filtered)"
# The same of the accounts $1 each at its position; without the blocks themselves.
_OF_SEVERAL = (
    "SELECT k.number, s.id, b.id FROM unnest((SELECT $1), (SELECT $2), (SELECT $3)) WITH ORDINALITY"
    " AS k (pubkey, slot, position, number),"
    " unnest((SELECT $4)) WITH ORDINALITY AS s (id, number), LATERAL ("
    + _NEWEST_BLOCK.format(columns="id", pubkey="k.pubkey", slot="k.slot", position="k.position")
    + ") AS b ORDER BY k.number, s.number"
)
# A cluster's: of the account $1 at the position ($2, $3), in the segment $4 and in its bucket $5,
# whose keys begin with $6.
_CANDIDATE = (
    "SELECT segment_id, {columns} FROM rewind_sealedblock WHERE segment_id = $4"
    " AND bucket = $5::smallint AND pubkey >= $6 AND (pubkey, slot, position) <= ($1, $2, $3)"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT 1"
)
_CANDIDATE_NUMBER = _CANDIDATE.format(columns="id")
_CANDIDATE_BLOCK = _CANDIDATE.format(columns="id, block")
_BELOW = (
    "SELECT id, pubkey, slot, position FROM rewind_sealedblock WHERE segment_id = $1"
    " AND bucket = $6::smallint AND pubkey >= $7 AND (pubkey, slot, position) < ($2, $3, $4)"
    " ORDER BY pubkey DESC, slot DESC, position DESC LIMIT $5"
)
_FROM = (
    "SELECT id, pubkey, slot, position FROM rewind_sealedblock WHERE segment_id = $1"
    " AND bucket = $6::smallint AND (pubkey, slot, position) > ($2, $3, $4)"
    " AND pubkey <= $7 ORDER BY pubkey, slot, position LIMIT $5"
)
# Fewer changes are in a block only where data are large.
_CHANGES_A_BLOCK = 150
_MOST_BLOCKS = 8


class Found(NamedTuple):
    """A sealed change with all that a State has."""

    change: Change
    owner: bytes
    owner_filtered: bool
    pubkey_filtered: bool
    first_dropped: int | None
    last_dropped: int | None

    @property
    def place(self) -> tuple[int, int]:
        return self.change.slot, self.change.position

    def row(self) -> tuple[Any, ...]:
        """In the order of State's fields."""
        change = self.change
        return (
            change.pubkey,
            change.slot,
            change.position,
            change.kind,
            change.lamports,
            change.rent_epoch,
            change.executable,
            self.owner,
            self.owner_filtered,
            as_stored(change.data),
            self.pubkey_filtered,
            self.first_dropped,
            self.last_dropped,
        )


def up_to(sealed: Sequence[Sealed], slot: int) -> list[int]:
    """The segments that begin at or below the slot, newest first."""
    return [each.id for each in sealed if each.first <= slot]


def queries_of_one(pubkey: bytes, position: Position, segments: Sequence[int]) -> list[Query]:
    """What `newest_of_one` needs the rows of."""
    if is_clustered():
        places = (pubkey, *position)
        newest = [
            (_CANDIDATE_BLOCK, *places, segment, pubkey[0], pubkey[:1]) for segment in segments
        ]
        return [*newest, *marks.queries([pubkey])]
    return [(_OF_ONE, pubkey, *position, list(segments))]


def newest_of_one(
    pubkey: bytes, position: Position, found: Sequence[Sequence[tuple[Any, ...]]]
) -> Found | None:
    """The account's newest sealed change at or before the position. Raises ArchiveDamaged."""
    rows = _joined(found) if is_clustered() else found[0]
    for segment, block, packed, filtered, *said in rows:
        change = open_blocks.opened(block, segment, packed).newest(pubkey, *position)
        if change is not None:
            owner = owners.pubkeys_of((change.owner_id,))[change.owner_id]
            return Found(change, owner, change.owner_id in filtered, *said)
    return None


def _joined(found: Sequence[Sequence[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """The rows that _OF_ONE would have given."""
    *newest, ((_, *said),), filtered = found
    numbers = [number for (number,) in filtered]
    return [(*row, numbers, *said) for rows in newest for row in rows]


def queries_of_several(
    wanted: Sequence[tuple[bytes, Position]], segments: Sequence[int]
) -> list[Query]:
    """What `newest_of_several` needs the rows of: of each account at its position."""
    pubkeys = [pubkey for pubkey, _ in wanted]
    if is_clustered():
        each = [
            (_CANDIDATE_NUMBER, pubkey, *position, segment, pubkey[0], pubkey[:1])
            for pubkey, position in wanted
            for segment in segments
        ]
        return [*each, *marks.queries(pubkeys)]
    return [
        (
            _OF_SEVERAL,
            pubkeys,
            [position.slot for _, position in wanted],
            [position.order for _, position in wanted],
            list(segments),
        ),
        *marks.queries(pubkeys),
    ]


def newest_of_several(
    wanted: Sequence[tuple[bytes, Position]], rows: Sequence[Sequence[tuple[Any, ...]]]
) -> dict[tuple[bytes, Position], Found]:
    """By account and position, those that have one. Raises ArchiveDamaged."""
    *newest, said, filtered = rows
    candidates = newest[0]
    if is_clustered():
        segments = len(newest) // len(wanted)
        candidates = [
            (number // segments + 1, *row) for number, some in enumerate(newest) for row in some
        ]
    bodies = open_blocks.fetched(
        [(block, segment, wanted[number - 1][0][0]) for number, segment, block in candidates]
    )
    changes: dict[tuple[bytes, Position], Change] = {}
    for number, _, block in candidates:
        each = pubkey, position = wanted[number - 1]
        if each not in changes and block in bodies:
            change = bodies[block].newest(pubkey, *position)
            if change is not None:
                changes[each] = change
    found = _found(list(changes.values()), said, filtered)
    return dict(zip(changes, found, strict=True))


def newest(
    wanted: Sequence[tuple[bytes, Position]], segments: Sequence[int]
) -> dict[tuple[bytes, Position], Found]:
    """The same, read at once."""
    if not wanted or not segments:
        return {}
    return newest_of_several(wanted, fetch_together(queries_of_several(wanted, segments)))


def at_places(wanted: Sequence[tuple[bytes, Position]], sealed: Sequence[Sealed]) -> list[Change]:
    """The changes that stand at these very places, as far as they are sealed."""
    segments = [each.id for each in sealed]
    found = newest(wanted, segments)
    return [each.change for (_, position), each in found.items() if each.place == position]


def below(
    pubkey: bytes, position: Position, first_slot: int, sealed: Sequence[Sealed], limit: int
) -> list[Change]:
    """The account's changes strictly before the position and from the slot on, newest first."""
    found: list[Change] = []
    for segment in sealed:
        if segment.first > position.slot or segment.last < first_slot:
            continue
        for body in _bodies_down(segment.id, pubkey, position, limit - len(found)):
            last = (position.slot, position.order - 1)
            found += reversed(body.of_account(pubkey, (first_slot, -(2**31)), last))
            if len(found) >= limit:
                return found[:limit]
    return found


def first_after(
    pubkey: bytes, position: Position, last_slot: int, sealed: Sequence[Sealed]
) -> tuple[int, int] | None:
    """Where the account's first change strictly after the position stands."""
    for segment in reversed(sealed):
        if segment.last < position.slot or segment.first > last_slot:
            continue
        for body in _bodies_up(segment.id, pubkey, position):
            for place in body.keys_of(pubkey):
                if place > position:
                    return place if place[0] <= last_slot else None
    return None


def _bodies_down(segment: int, pubkey: bytes, position: Position, changes: int) -> Iterator[Body]:
    """The blocks that may have changes of the account before the position, newest first."""
    key: tuple[bytes, int, int] = (pubkey, *position)
    count = min(changes // _CHANGES_A_BLOCK + 1, _MOST_BLOCKS)
    while True:
        rows = fetch_all(_BELOW, segment, *key, count, pubkey[0], pubkey[:1])
        bodies = open_blocks.fetched([(row[0], segment, pubkey[0]) for row in rows])
        for number, first, *_ in rows:
            if number in bodies:  # else it left as a gap just now
                yield bodies[number]
            if first < pubkey:
                return
        if len(rows) < count:
            return
        key = rows[-1][1:]


def _bodies_up(segment: int, pubkey: bytes, position: Position) -> Iterator[Body]:
    key: tuple[bytes, int, int] = (pubkey, position.slot, position.order + 1)
    bucket = pubkey[0]
    before = fetch_all(_BELOW, segment, *key, 1, bucket, pubkey[:1])
    if before:
        yield from open_blocks.fetched([(before[0][0], segment, bucket)]).values()
    while True:
        after = (key[0], key[1], key[2] - 1)
        rows = fetch_all(_FROM, segment, *after, 1, bucket, pubkey)
        if not rows:
            return
        yield from open_blocks.fetched([(rows[0][0], segment, bucket)]).values()
        key = (rows[0][1], rows[0][2], rows[0][3] + 1)


def _found(
    changes: Sequence[Change],
    said: Sequence[tuple[Any, ...]],
    filtered: Sequence[tuple[Any, ...]],
) -> list[Found]:
    by_pubkey = marks.by_pubkey(said)
    filtered_ids = {number for (number,) in filtered}
    names = owners.pubkeys_of({change.owner_id for change in changes})
    return [
        Found(
            change,
            names[change.owner_id],
            change.owner_id in filtered_ids,
            *by_pubkey[change.pubkey],
        )
        for change in changes
    ]
