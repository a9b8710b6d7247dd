"""What the archive's table holds, and what it must hold by localnet's own word."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from solders.pubkey import Pubkey

from chain.encodings import b64decode
from columns.packed_data import unpack
from embedded.addresses import embedded_addresses
from tests.clients.service import Service

# Where writes stand that no transaction made: before the first one's, and after the last one's.
_FIRST, _LAST = -1, 2**31 - 1
# The table has a u64 as the i64 of the same bits.
_U64 = 2**64
_CHANGES = """
    SELECT slot, change.pubkey, position, write_version, lamports, owner.pubkey, data, executable,
           rent_epoch
    FROM rewind_accountchange change JOIN rewind_owner owner ON owner.id = owner_id
    WHERE slot BETWEEN %s AND %s
"""


class Place(NamedTuple):
    pubkey: str
    position: int


class Written(NamedTuple):
    """An account as a write left it."""

    write_version: int
    lamports: int
    owner: str
    data: bytes
    executable: bool
    rent_epoch: int


def stored_changes(service: Service, first: int, last: int) -> dict[int, dict[Place, Written]]:
    """Every row of these slots."""
    found: dict[int, dict[Place, Written]] = {}
    with psycopg.connect(embedded_addresses(service.run_dir).database_url) as connection:
        for (
            slot,
            pubkey,
            position,
            version,
            lamports,
            owner,
            data,
            executable,
            rent_epoch,
        ) in connection.execute(_CHANGES, (first, last)):
            place = Place(str(Pubkey(pubkey)), position)
            changes = found.setdefault(slot, {})
            assert place not in changes, f"slot {slot}: {place} is there twice"
            changes[place] = Written(
                version % _U64,
                lamports % _U64,
                str(Pubkey(owner)),
                unpack(data),
                executable,
                rent_epoch % _U64,
            )
    return found


def archived_slots(service: Service, first: int, last: int) -> dict[int, int]:
    """The slots that say of themselves that they are whole, with how many rows they have."""
    with psycopg.connect(embedded_addresses(service.run_dir).database_url) as connection:
        whole = "SELECT slot, changes FROM rewind_archivedslot WHERE granularity = 0"
        rows = connection.execute(f"{whole} AND slot BETWEEN %s AND %s", (first, last))
        return dict(rows)


def wanted_changes(
    writes: Sequence[dict[str, Any]], signatures: Sequence[str]
) -> dict[Place, Written]:
    """The rows that a block with these transactions must have for these writes."""
    index = {signature: number for number, signature in enumerate(signatures)}
    versions = [each["writeVersion"] for each in writes if each["signature"] is not None]
    wanted: dict[Place, Written] = {}
    for each in writes:
        version = each["writeVersion"]
        if each["signature"] is not None:
            position = index[each["signature"]]
        else:
            position = _FIRST if not versions or version < min(versions) else _LAST
        place = Place(each["pubkey"], position)
        # Of several writes to one account at one place the last is what is told of it.
        if place not in wanted or wanted[place].write_version < version:
            wanted[place] = Written(
                version,
                each["lamports"],
                each["owner"],
                b64decode(each["data"][0]),
                each["executable"],
                each["rentEpoch"],
            )
    return wanted
