"""Where programs keep their IDLs on chain: Anchor's account, and that of the program metadata
program (github.com/solana-program/program-metadata, `program/src/state/header.rs`).
"""

import zlib
from hashlib import sha256
from typing import Literal, TypeAlias

from solders.pubkey import Pubkey

from chain.addresses import METADATA
from chain.idl.reading import MOST_BYTES
from chain.idl.types import BadIdl

OnChain: TypeAlias = Literal["anchor", "programMetadata"]

_ANCHOR_TAG = sha256(b"internal:IdlAccount").digest()[:8]
_ANCHOR_HEADER = 44
_METADATA_HEADER = 96
_METADATA, _UTF8, _JSON, _DIRECT = 2, 1, 1, 0
_SEED = b"idl".ljust(16, b"\0")


def idl_accounts(program: Pubkey) -> dict[OnChain, Pubkey]:
    """The accounts that may hold the program's IDL, the one to prefer first."""
    base, _ = Pubkey.find_program_address([], program)
    metadata, _ = Pubkey.find_program_address([bytes(program), _SEED], METADATA)
    return {
        "programMetadata": metadata,
        "anchor": Pubkey.create_with_seed(base, "anchor:idl", program),
    }


def idl_text(kind: OnChain, program: Pubkey, owner: Pubkey, data: bytes) -> bytes:
    """The JSON that such an account holds. Raises BadIdl."""
    if kind == "anchor":
        if owner != program or not data.startswith(_ANCHOR_TAG) or len(data) < _ANCHOR_HEADER:
            raise BadIdl("not an IDL account of Anchor's")
        size = int.from_bytes(data[40:44], "little")
        return _inflated(data[_ANCHOR_HEADER : _ANCHOR_HEADER + size])
    encoding, compression, form, source = data[83:87] if len(data) >= _METADATA_HEADER else [0] * 4
    if (
        owner != METADATA
        or (encoding, form, source) != (_UTF8, _JSON, _DIRECT)
        or data[0] != _METADATA
        or data[1:33] != bytes(program)
    ):
        raise BadIdl("not an account of the program metadata program with JSON in it")
    size = int.from_bytes(data[87:91], "little")
    held = data[_METADATA_HEADER : _METADATA_HEADER + size]
    return _inflated(held) if compression else held


def _inflated(packed: bytes) -> bytes:
    """Of zlib or gzip, up to one byte more than an IDL may have."""
    unpacker = zlib.decompressobj(wbits=47)
    try:
        text = unpacker.decompress(packed, MOST_BYTES + 1)
    except zlib.error:
        raise BadIdl("its compressed text is damaged") from None
    if not unpacker.eof and len(text) <= MOST_BYTES:
        raise BadIdl("its compressed text is cut off")
    return text
