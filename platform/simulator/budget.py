"""A transaction's limits, from its settings, and its fee."""

from typing import NamedTuple

from solders.message import MessageV1

from chain.addresses import ED25519, SECP256K1, SECP256R1
from chain.transaction_settings import BadSettings, settings_of
from chain.units import U64_MAX
from simulator.errors import Refused
from simulator.parts import Parts

LAMPORTS_PER_SIGNATURE = 5_000
_PRECOMPILES = frozenset({SECP256K1, ED25519, SECP256R1})


class Budget(NamedTuple):
    """Limits in units and bytes, the heap's bytes, and the fee in lamports,
    `priority_fee` of it for priority.
    """

    units: int
    heap: int
    loaded_bytes: int
    fee: int
    priority_fee: int


def read_budget(parts: Parts, *, builtins_take_less: bool = True) -> Budget:
    """The transaction's budget. Refused, as by the node, for settings that none may have."""
    keys = parts.keys
    signatures = parts.required
    calls = []
    for program_index, _, data in parts.instructions:
        program = keys[program_index]
        calls.append((bytes(program), data))
        if program in _PRECOMPILES and data:
            signatures += data[0]
    message = parts.message
    config = message.config if isinstance(message, MessageV1) else None
    try:
        given = settings_of(parts.version, calls, config, builtins_take_less=builtins_take_less)
    except BadSettings as bad:
        raise Refused(bad.err) from None
    fee = min(signatures * LAMPORTS_PER_SIGNATURE + given.priority_fee, U64_MAX)
    return Budget(given.units, given.heap_size, given.loaded_bytes, fee, given.priority_fee)
