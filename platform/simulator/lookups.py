"""Address lookup tables: the keys that a version 0 transaction loads."""

from collections.abc import Callable

from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import LOOKUP_TABLE, SLOT_HASHES
from chain.units import U64_MAX
from simulator.errors import Refused
from simulator.parts import Parts

_META_SIZE = 56
_TABLE = 1


def load_lookups(parts: Parts, load: Callable[[Pubkey], Account | None], slot: int) -> None:
    """Adds the loaded keys to the parts; Refused if a table does not provide them.

    `load` is called for each table, and for the slot hashes if one is being deactivated.
    """
    writable: list[Pubkey] = []
    readonly: list[Pubkey] = []
    tables = [(lookup, load(lookup.table)) for lookup in parts.lookups]
    for lookup, account in tables:
        if account is None:
            raise Refused("AddressLookupTableNotFound")
        if account.owner != LOOKUP_TABLE:
            raise Refused("InvalidAddressLookupTableOwner")
        data = account.data
        if len(data) < _META_SIZE or int.from_bytes(data[:4], "little") != _TABLE:
            raise Refused("InvalidAddressLookupTableData")
        if (len(data) - _META_SIZE) % 32:
            raise Refused("InvalidAddressLookupTableData")
        if not _usable(int.from_bytes(data[4:12], "little"), load, slot):
            raise Refused("AddressLookupTableNotFound")
        count = (len(data) - _META_SIZE) // 32
        # Keys added in this slot cannot be used before the next one.
        if slot <= int.from_bytes(data[12:20], "little"):
            count = min(count, data[20])
        for indexes, keys in ((lookup.writable, writable), (lookup.readonly, readonly)):
            for index in indexes:
                if index >= count:
                    raise Refused("InvalidAddressLookupTableIndex")
                start = _META_SIZE + 32 * index
                keys.append(Pubkey.from_bytes(data[start : start + 32]))
    if tables:
        parts.load_keys(writable, readonly)


def listed_keys(data: bytes) -> list[Pubkey]:
    """Every key that a lookup table account lists, usable or not; empty if it is not a table."""
    if len(data) < _META_SIZE or int.from_bytes(data[:4], "little") != _TABLE:
        return []
    return [Pubkey.from_bytes(data[at : at + 32]) for at in range(_META_SIZE, len(data) - 31, 32)]


def _usable(deactivated: int, load: Callable[[Pubkey], Account | None], slot: int) -> bool:
    """Whether the table is active: until its deactivation slot leaves the slot hashes."""
    if deactivated in (U64_MAX, slot):
        return True
    hashes = load(SLOT_HASHES)
    data = hashes.data if hashes is not None else bytes(8)
    count = min(int.from_bytes(data[:8], "little"), (len(data) - 8) // 40)
    wanted = deactivated.to_bytes(8, "little")
    return any(data[8 + 40 * i : 16 + 40 * i] == wanted for i in range(count))
