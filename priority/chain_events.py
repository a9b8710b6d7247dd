"""Chain events that the follower publishes through Redis for landers and for acceptance."""

import msgspec

from shared_state.redis_client import NAMESPACE

# A stream of packed lists of events in its one field, trimmed to the newest ones.
CHAIN_EVENTS_STREAM = f"{NAMESPACE}chain:happenings"
FIELD = "h"
KEPT_ENTRIES = 20_000
# {blockhash, 32 bytes: its block's height as text}, of at least the last KEPT_BLOCKHASHES blocks.
# The lander keeps as many, and does not send what it knows to be dead: acceptance must know it too.
KEPT_BLOCKHASHES = 2_000
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


ChainEvent = Seen | BlockMade | SlotMoved
