"""Detects transactions with a durable nonce from their message."""

from chain.transactions import Wire

_SYSTEM = bytes(32)
_ADVANCE = (4).to_bytes(4, "little")


def stands_on_nonce(wire: Wire) -> bool:
    """Whether the first instruction advances a nonce: then the blockhash is the nonce's, and does
    not expire.
    """
    if not wire.instructions:
        return False
    program_index, accounts, data = wire.instructions[0]
    keys = wire.account_keys
    return (
        program_index < len(keys)
        and keys[program_index] == _SYSTEM
        and data[:4] == _ADVANCE
        and len(accounts) > 0
    )
