"""Solana's units as types: plain integers that the type checker distinguishes."""

from typing import NewType

Slot = NewType("Slot", int)
Epoch = NewType("Epoch", int)
Lamports = NewType("Lamports", int)
UnixTimestamp = NewType("UnixTimestamp", int)

U64_MAX = 2**64 - 1
I64_MAX = 2**63 - 1
LAMPORTS_PER_SOL = 1_000_000_000
SLOTS_PER_EPOCH = 432_000
