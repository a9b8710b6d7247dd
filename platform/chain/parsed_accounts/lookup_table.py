"""An address lookup table's account."""

from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import RawAccount, entries

_ADDRESSES_START = 56
_UNINITIALIZED, _TABLE = 0, 1


def parse_lookup_table_account(raw: RawAccount) -> dict[str, Any]:
    """The table's addresses and its state."""
    data = raw.data
    cursor = Cursor(data)
    kind = cursor.u32()
    if kind == _UNINITIALIZED:
        return {"type": "uninitialized"}
    if kind != _TABLE or len(data) < _ADDRESSES_START or (len(data) - _ADDRESSES_START) % 32:
        raise UnreadableError
    info: dict[str, Any] = {
        "deactivationSlot": cursor.u64_text(),
        "lastExtendedSlot": cursor.u64_text(),
        "lastExtendedSlotStartIndex": cursor.u8(),
    }
    authority = cursor.optional_pubkey()
    if authority is not None:
        info["authority"] = authority
    cursor.at = _ADDRESSES_START
    count = (len(data) - _ADDRESSES_START) // 32
    info["addresses"] = [cursor.pubkey() for _ in entries(cursor, 32, count=count)]
    return {"info": dict(sorted(info.items())), "type": "lookupTable"}
