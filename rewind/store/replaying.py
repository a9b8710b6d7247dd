"""Queries on the archive around a position, for simulations and replays."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.raw_queries import fetch_all, fetch_one
from rewind.positions import Position

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
    slot, order = position
    found: list[Later] = []
    missing = list(pubkeys)
    for end in sorted({min(slot + _NEAR_SLOTS, latest), latest}):
        if not missing:
            break
        # The range stands in the text: partitions outside it are then not even planned for.
        rows = fetch_all(
            "SELECT c.pubkey, c.slot, c.position, coalesce(a.granularity = 0, false)"
            " FROM unnest($1) AS k (pubkey), LATERAL ("
            "SELECT pubkey, slot, position FROM rewind_accountchange"
            f" WHERE pubkey = k.pubkey AND slot BETWEEN {slot} AND {end}"
            " AND (slot, position) > ($2, $3) ORDER BY slot, position LIMIT 1) AS c"
            " LEFT JOIN rewind_archivedslot a ON a.slot = c.slot",
            *(missing, slot, order),
        )
        found += [Later(*row) for row in rows]
        there = {each.pubkey for each in found}
        missing = [pubkey for pubkey in missing if pubkey not in there]
    return found


def written_between(pubkeys: Sequence[bytes], first: int, last: int) -> list[bytes]:
    """Those that have a row of any kind in these slots."""
    rows = fetch_all(
        "SELECT k.pubkey FROM unnest($1) AS k (pubkey) WHERE EXISTS ("
        "SELECT FROM rewind_accountchange AS c WHERE c.pubkey = k.pubkey"
        f" AND c.slot BETWEEN {first} AND {last})",
        list(pubkeys),
    )
    return [pubkey for (pubkey,) in rows]


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
        *(slot, slots_per_epoch, first_normal_slot),
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
