"""The lists of the accounts that each slot left changed, by owner."""

from collections.abc import Collection, Mapping

from columns.packed_data import pack, unpack
from columns.queries import execute
from columns.raw_queries import fetch_all
from rewind.sealed.packing.slot_owners import packed, pairs_of, prefix_of


def put(last_owners: Mapping[int, Mapping[bytes, int]], completed: Collection[int]) -> None:
    """Slot → {account: its owner's number}. Of a slot that was `completed` the list that is there
    stays, too: it may name an account that was another owner's, and leaves out none.
    """
    if not last_owners:
        return
    known = dict(
        fetch_all(
            "SELECT slot, accounts FROM rewind_slotowners WHERE slot = ANY($1)",
            [slot for slot in last_owners if slot in completed],
        )
    )
    slots, lists = [], []
    for slot, owners in sorted(last_owners.items()):
        pairs = {(owner, prefix_of(pubkey)) for pubkey, owner in owners.items()}
        if slot in known:
            pairs.update(pairs_of(unpack(known[slot])))
        slots.append(slot)
        lists.append(pack(packed(pairs)))
    execute(
        "INSERT INTO rewind_slotowners (slot, accounts)"
        " SELECT * FROM unnest(%s::bigint[], %s::bytea[])"
        " ON CONFLICT (slot) DO UPDATE SET accounts = excluded.accounts",
        [slots, lists],
    )


def between(first: int, last: int) -> list[tuple[int, bytes]]:
    """(slot, list) of the slots that have one, ascending; both ends inclusive. The lists are those
    of rewind/sealed/packing/slot_owners.py.
    """
    rows = fetch_all(
        "SELECT slot, accounts FROM rewind_slotowners WHERE slot BETWEEN $1 AND $2 ORDER BY slot",
        first,
        last,
    )
    return [(slot, unpack(stored)) for slot, stored in rows]


def forget(slots: Collection[int]) -> None:
    execute("DELETE FROM rewind_slotowners WHERE slot = ANY(%s)", [list(slots)])


def forget_below(slot: int) -> None:
    execute("DELETE FROM rewind_slotowners WHERE slot < %s", [slot])
