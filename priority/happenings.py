"""What the followed chain just did, as the follower tells it through Redis to who lands."""

import msgspec

from shared_state.redis_client import NAMESPACE

# A stream of packed lists of happenings in its one field, trimmed to the newest ones.
HAPPENINGS_STREAM = f"{NAMESPACE}chain:happenings"
FIELD = "h"
KEPT_ENTRIES = 20_000
# {blockhash, 32 bytes: its block's height as text}, of at least the last 300 blocks.
BLOCKHASHES = f"{NAMESPACE}chain:blockhashes"
# {slot, height, blockhash (base58), at (Unix seconds)} of the newest processed block.
HEAD = f"{NAMESPACE}chain:head"
# A blockhash is good in its own block and the next so many.
BLOCKHASH_BLOCKS = 150


class Seen(msgspec.Struct, frozen=True, array_like=True, tag="seen"):
    """Transactions that a block of the slot holds, at PROCESSED. `errors` is {place in
    `signatures`: the packed error as the stream gives it} of those that failed.
    """

    slot: int
    signatures: bytes  # 64 each
    indexes: list[int]  # the transactions' places in the block
    errors: dict[int, bytes]


class BlockMade(msgspec.Struct, frozen=True, array_like=True, tag="block"):
    """A block of the slot is whole."""

    slot: int
    parent_slot: int
    blockhash: bytes
    height: int | None


class SlotMoved(msgspec.Struct, frozen=True, array_like=True, tag="slot"):
    """The slot reached `processed`, `confirmed` or `finalized`, or is `dead`, or its leader `began`
    it.
    """

    slot: int
    status: str


Happening = Seen | BlockMade | SlotMoved

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Happening]).decode


def pack(happenings: list[Happening]) -> bytes:
    return _encode(happenings)


def unpack(packed: bytes) -> list[Happening]:
    return _decode(packed)
