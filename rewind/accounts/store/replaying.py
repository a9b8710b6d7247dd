"""Queries on the archive around a position, for simulations and replays."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from columns.clusters import is_clustered
from columns.raw_queries import fetch_all, fetch_one, fetch_together
from rewind.positions import Position
from rewind.recording.store.partitions import Sealed
from rewind.sealed.store import sealed_reads

# How far ahead an account's next write is looked for at first: 4 days of mainnet's.
_NEAR_SLOTS = 864_000


class Later(NamedTuple):
    """An account's next write, and whether the archive has every write of its slot."""

    pubkey: bytes
    slot: int
    position: int
    is_fine: bool


def next_writes(pubkeys: Sequence[bytes], position: Position, latest: int) -> list[Later]:
    """The first row of each account after the position, of those that have one up to `latest`."""
    slot = position.slot
    found: dict[bytes, tuple[int, int]] = {}
    sealed = _sealed_between(slot, latest)
    for end in sorted({min(slot + _NEAR_SLOTS, latest), latest}):
        missing = [pubkey for pubkey in pubkeys if pubkey not in found]
        if not missing:
            break
        rows = _next_rows(missing, position, end)
        found |= {pubkey: (slot, position) for pubkey, slot, position in rows}
        for pubkey in missing if sealed else ():
            place = sealed_reads.first_after(pubkey, position, end, sealed)
            if place is not None and place < found.get(pubkey, (end + 1, 0)):
                found[pubkey] = place
    fine = _with_every_write({place[0] for place in found.values()})
    return [Later(pubkey, *place, place[0] in fine) for pubkey, place in found.items()]


def _next_rows(
    pubkeys: Sequence[bytes], position: Position, end: int
) -> list[tuple[bytes, int, int]]:
    # The range stands in the text: partitions outside it are then not even planned for.
    newest = (
        "SELECT pubkey, slot, position FROM rewind_accountchange WHERE pubkey = {}"
        f" AND slot BETWEEN {position.slot} AND {end}"
        " AND (slot, position) > ($2, $3) ORDER BY slot, position LIMIT 1"
    )
    if is_clustered():
        one = newest.format("$1")
        several = fetch_together([(one, pubkey, *position) for pubkey in pubkeys])
        return [row for rows in several for row in rows]
    return fetch_all(
        "SELECT c.pubkey, c.slot, c.position FROM unnest((SELECT $1)) AS k (pubkey),"
        f" LATERAL ({newest.format('k.pubkey')}) AS c",
        list(pubkeys),
        *position,
    )


def written_between(pubkeys: Sequence[bytes], first: int, last: int) -> list[bytes]:
    """Those that have a row of any kind in these slots."""
    if not pubkeys:
        return []
    # The range stands in the text: partitions outside it are then not even planned for.
    written = f"SELECT FROM rewind_accountchange AS c WHERE c.slot BETWEEN {first} AND {last}"
    if is_clustered():
        one = written.replace("SELECT", "SELECT c.pubkey", 1) + " AND c.pubkey = $1 LIMIT 1"
        rows = [row for rows in fetch_together([(one, key) for key in pubkeys]) for row in rows]
    else:
        rows = fetch_all(
            "SELECT k.pubkey FROM unnest((SELECT $1)) AS k (pubkey)"
            f" WHERE EXISTS ({written} AND c.pubkey = k.pubkey)",
            list(pubkeys),
        )
    found = {pubkey for (pubkey,) in rows}
    sealed = _sealed_between(first, last)
    start = Position(first, -(2**31))
    for pubkey in pubkeys if sealed else ():
        if sealed_reads.first_after(pubkey, start, last, sealed) is not None:
            found.add(pubkey)
    return list(found)


def _sealed_between(first: int, last: int) -> list[Sealed]:
    """Newest first."""
    rows = fetch_all(
        "SELECT id, first_slot, last_slot FROM rewind_sealedsegment WHERE state = 1"
        " AND first_slot <= $2 AND last_slot >= $1 ORDER BY first_slot DESC",
        first,
        last,
    )
    return [Sealed(*row) for row in rows]


def _with_every_write(slots: Collection[int]) -> set[int]:
    if not slots:
        return set()
    rows = fetch_all(
        "SELECT slot FROM rewind_archivedslot WHERE slot = ANY($1) AND granularity = 0",
        list(slots),
    )
    return {slot for (slot,) in rows}


def first_gap_from(slot: int) -> int | None:
    """The first slot at or above it that lies in an open gap."""
    row = fetch_one(
        "SELECT greatest(from_slot, $1) FROM rewind_gap"
        " WHERE closed_at IS NULL AND to_slot >= $1 ORDER BY from_slot LIMIT 1",
        slot,
    )
    return None if row is None else int(row[0])


def last_gap_below(slot: int) -> int | None:
    """The last slot below it that lies in an open gap."""
    row = fetch_one(
        "SELECT least(to_slot, $1 - 1) FROM rewind_gap"
        " WHERE closed_at IS NULL AND from_slot < $1 ORDER BY from_slot DESC LIMIT 1",
        slot,
    )
    return None if row is None else int(row[0])


def newest_gap_over_an_epochs_beginning(
    slot: int, slots_per_epoch: int, first_normal_slot: int
) -> tuple[int, int, str] | None:
    """Of the open gaps that begin at or below the slot, the newest that ends in another epoch than
    the block below it: (first slot, last slot, status). Those of warm-up epochs count all.
    """
    row = fetch_one(
        "SELECT from_slot, to_slot, status FROM ("
        "SELECT *, coalesce((SELECT slot FROM rewind_archivedslot WHERE slot < from_slot"
        " ORDER BY slot DESC LIMIT 1), from_slot - 1) AS below"
        " FROM rewind_gap WHERE closed_at IS NULL AND from_slot <= $1) AS gap"
        " WHERE below < $3 OR (below - $3) / $2 <> (least(to_slot, $1) - $3) / $2"
        " ORDER BY from_slot DESC LIMIT 1",
        slot,
        slots_per_epoch,
        first_normal_slot,
    )
    return None if row is None else (row[0], row[1], row[2])


def blockhash_below(slot: int) -> bytes | None:
    """The blockhash of the newest archived slot below the slot."""
    row = fetch_one(
        "SELECT blockhash FROM rewind_archivedslot WHERE slot < $1 ORDER BY slot DESC LIMIT 1",
        slot,
    )
    return None if row is None else bytes(row[0])


def chain_of_filters() -> str:
    """The genesis hash of the chain whose default filters were set; empty while none is known."""
    row = fetch_one("SELECT filters_set_for FROM rewind_archivestate")
    return "" if row is None else str(row[0])
