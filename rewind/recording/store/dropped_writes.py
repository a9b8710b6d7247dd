"""Between which slots each account's writes were dropped by a filter."""

from collections.abc import Hashable, Mapping

from django.db import connection, transaction

from columns.clusters import is_clustered
from columns.kept import Remembered
from columns.queries import execute
from columns.raw_queries import fetch_together
from rewind.positions import CARRIED
from rewind.sealed.store.segments import slice_bounds

# A vote account is written in every slot, and noted once in so many of them. So long after its last
# dropped write an account still counts as old, unless it is written again later than that.
_AHEAD = 32
# Of a cluster's accounts so many are looked for in one round trip.
_AT_ONCE = 200
# Accounts whose noted slots a process remembers: some 40 MB.
_MOST = 200_000

_known: Remembered[bytes, tuple[int, int]] = Remembered()
_known_under: Hashable = None


def note(dropped: Mapping[bytes, tuple[int, int]], filters: Hashable) -> None:
    """Of each account the lowest and the highest slot of dropped writes. `filters` is what they
    were dropped by: under others nothing counts as noted.
    """
    new = {
        pubkey: (first, last + _AHEAD)
        for pubkey, (first, last) in sorted(dropped.items())
        if not _is_known(pubkey, first, last, filters)
    }
    if not new:
        return
    # In one order for all, so that no two writers wait in ring.
    execute(
        "INSERT INTO rewind_droppedaccount AS stored (pubkey, first_slot, last_slot)"
        " SELECT * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[])"
        " ON CONFLICT (pubkey) DO UPDATE SET"
        " first_slot = least(stored.first_slot, excluded.first_slot),"
        " last_slot = greatest(stored.last_slot, excluded.last_slot)"
        " WHERE excluded.first_slot < stored.first_slot"
        " OR excluded.last_slot > stored.last_slot",
        [list(new), [first for first, _ in new.values()], [last for _, last in new.values()]],
    )
    # What a rolled back transaction noted is not there.
    transaction.on_commit(lambda: _remember(new, filters))


def carry(number: int, edge: int) -> None:
    """Before the states below the edge are carried there: of the slice's accounts, those whose
    newest state is older than a dropped write stay old, others are no longer noted. The slice's
    newest sealed states were copied (rewind/sealed/store/unsealing.py).
    """
    low, high = slice_bounds(number)
    if is_clustered():
        _carry_apart(low, high, edge)
        return
    execute(
        "WITH noted AS MATERIALIZED (SELECT pubkey FROM rewind_droppedaccount"
        " WHERE pubkey >= %(from)s AND (%(to)s::bytea IS NULL OR pubkey < %(to)s)"
        " AND last_slot < %(edge)s ORDER BY pubkey FOR UPDATE),"
        # A state that was carried itself is of any slot below the one that it stands in.
        " newest AS MATERIALIZED (SELECT pubkey, (SELECT slot - (position = %(carried)s)::int"
        " FROM (SELECT slot, position FROM rewind_accountchange AS change"
        " WHERE change.pubkey = noted.pubkey AND slot < %(edge)s"
        " UNION ALL SELECT slot, position FROM rewind_unsealed AS sealed"
        " WHERE sealed.pubkey = noted.pubkey) AS change"
        " ORDER BY slot DESC, position DESC LIMIT 1) AS slot FROM noted),"
        " fresh AS (DELETE FROM rewind_droppedaccount AS stored USING newest"
        " WHERE stored.pubkey = newest.pubkey AND newest.slot >= last_slot)"
        " UPDATE rewind_droppedaccount AS stored SET last_slot = %(edge)s FROM newest"
        " WHERE stored.pubkey = newest.pubkey AND newest.slot < last_slot",
        {"edge": edge, "carried": CARRIED, "from": low, "to": high},
    )


_NEWEST = (
    "SELECT slot, position FROM {} WHERE pubkey = $1 AND slot < $2"
    " ORDER BY slot DESC, position DESC LIMIT 1"
)


def _carry_apart(low: bytes, high: bytes | None, edge: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pubkey, last_slot FROM rewind_droppedaccount"
            " WHERE pubkey >= %(from)s AND (%(to)s::bytea IS NULL OR pubkey < %(to)s)"
            " AND last_slot < %(edge)s ORDER BY pubkey FOR UPDATE",
            {"edge": edge, "from": low, "to": high},
        )
        noted = [(bytes(pubkey), last) for pubkey, last in cursor.fetchall()]
        fresh: list[bytes] = []
        stale: list[bytes] = []
        for at in range(0, len(noted), _AT_ONCE):
            some = noted[at : at + _AT_ONCE]
            texts = [_NEWEST.format(each) for each in ("rewind_accountchange", "rewind_unsealed")]
            rows = fetch_together([(text, key, edge) for key, _ in some for text in texts])
            for number, (pubkey, last) in enumerate(some):
                places = [*rows[2 * number], *rows[2 * number + 1]]
                if not places:
                    continue
                slot, position = max(places)
                (fresh if slot - (position == CARRIED) >= last else stale).append(pubkey)
        cursor.execute("DELETE FROM rewind_droppedaccount WHERE pubkey = ANY(%s)", [fresh])
        cursor.execute(
            "UPDATE rewind_droppedaccount SET last_slot = %s WHERE pubkey = ANY(%s)", [edge, stale]
        )


def _is_known(pubkey: bytes, first: int, last: int, filters: Hashable) -> bool:
    if filters != _known_under:
        return False
    noted = _known.get(pubkey)
    return noted is not None and noted[0] <= first and last <= noted[1]


def _remember(noted: dict[bytes, tuple[int, int]], filters: Hashable) -> None:
    global _known_under
    if filters != _known_under or len(_known) + len(noted) > _MOST:
        _known.clear()
        _known_under = filters
    for pubkey, (first, last) in noted.items():
        lowest, highest = _known.get(pubkey, (first, last))
        _known[pubkey] = min(lowest, first), max(highest, last)
