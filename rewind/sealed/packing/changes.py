"""An account change as it is sealed, and a block of them."""

from typing import NamedTuple

# A Solana account holds at most 10 MiB.
MAX_DATA = 10 << 20
WRITE, BASE = 0, 1


class Change(NamedTuple):
    """One version of an account. Changes are sorted by (pubkey, slot, position), each once."""

    pubkey: bytes  # 32 bytes
    slot: int  # 0 .. 2**63 - 1
    position: int  # inside the slot: -2 .. 2**31 - 1
    kind: int  # WRITE or BASE
    lamports: int  # u64
    rent_epoch: int  # u64
    executable: bool
    owner_id: int  # 1 .. 2**31 - 1
    data: bytes  # at most MAX_DATA


class Block(NamedTuple):
    """Changes of one bucket (the first byte of a pubkey), compressed. It stands alone."""

    pubkey: bytes  # of the first change
    slot: int
    position: int
    last_pubkey: bytes  # of the last one
    last_slot: int
    last_position: int
    changes: int
    body: bytes


class BlockDamaged(ValueError):
    """The bytes are no block, were changed, or were packed with another dictionary."""
