"""An address lookup table's account."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError

_ADDRESSES_START = 56
_UNINITIALIZED, _TABLE = 0, 1


def parse_lookup_table_account(
    data: bytes, decimals_of: Callable[[str], int | None]
) -> dict[str, Any]:
    """The table's addresses and its state."""
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
    info["addresses"] = [cursor.pubkey() for _ in range((len(data) - _ADDRESSES_START) // 32)]
    return {"info": dict(sorted(info.items())), "type": "lookupTable"}
