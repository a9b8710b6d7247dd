"""Top-level transfers of the system program in a message."""

from collections.abc import Iterator
from typing import NamedTuple

from chain.transactions import Wire

_SYSTEM = bytes(32)
_TRANSFER = (2).to_bytes(4, "little")


class Transfer(NamedTuple):
    """A top-level transfer: the instruction's index in the message, and the destination; None if it
    comes from a lookup table.
    """

    instruction_index: int
    destination: bytes | None
    lamports: int


def top_level_transfers(wire: Wire) -> Iterator[Transfer]:
    """The transfers in the order of the instructions, without those by inner instructions."""
    keys = wire.account_keys
    count = wire.key_count
    for place, (program_index, accounts, data) in enumerate(wire.instructions):
        if program_index >= len(keys) or keys[program_index] != _SYSTEM:
            continue
        # The program reads its first 12 bytes and two accounts, and lets more follow.
        if len(data) < 12 or data[:4] != _TRANSFER or len(accounts) < 2 or accounts[1] >= count:
            continue
        index = accounts[1]
        destination = keys[index] if index < len(keys) else None
        yield Transfer(place, destination, int.from_bytes(data[4:12], "little"))
