"""Durable nonces, as far as a message alone tells of them."""

from chain.transactions import Wire

_SYSTEM = bytes(32)
_ADVANCE = (4).to_bytes(4, "little")


def stands_on_nonce(wire: Wire) -> bool:
    """Whether its first instruction advances a nonce: then its blockhash is that nonce's, and no
    block height ends it.
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
