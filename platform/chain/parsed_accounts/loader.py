"""The accounts of the upgradeable loader: programs, their data, and buffers."""

from typing import Any

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import RawAccount

_UNINITIALIZED, _BUFFER, _PROGRAM, _PROGRAM_DATA = range(4)


def parse_loader_account(raw: RawAccount) -> dict[str, Any]:
    """A program's link to its data, or the data with its authority."""
    cursor = Cursor(raw.data)
    state = cursor.u32()
    if state == _UNINITIALIZED:
        return {"type": "uninitialized"}
    if state == _BUFFER:
        return {"info": _code(cursor), "type": "buffer"}
    if state == _PROGRAM:
        return {"info": {"programData": cursor.pubkey()}, "type": "program"}
    if state == _PROGRAM_DATA:
        slot = cursor.u64()
        return {"info": {**_code(cursor), "slot": slot}, "type": "programData"}
    raise UnreadableError


def _code(cursor: Cursor) -> dict[str, Any]:
    authority = cursor.optional_pubkey()
    # Without an authority the node reads its 32 bytes as code.
    return {"authority": authority, "data": [b64encode(cursor.rest()), "base64"]}
