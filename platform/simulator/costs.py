"""A transaction's cost in the units of the block cost model."""

from chain.addresses import ED25519, SECP256K1, SECP256R1
from simulator.parts import Parts

_SIGNATURE = 720
_PRECOMPILE_SIGNATURE = {SECP256K1: 6_690, ED25519: 2_400, SECP256R1: 4_800}
_WRITE_LOCK = 300
_DATA_BYTES_PER_UNIT = 4
_PAGE = 32 * 1024
_UNITS_PER_PAGE = 8


def cost_units(parts: Parts, units_consumed: int, loaded_bytes: int) -> int:
    """`costUnits` of the status meta."""
    cost = parts.required * _SIGNATURE + units_consumed
    locks = parts.required - parts.readonly_signed + len(parts.loaded_writable)
    locks += parts.static_count - parts.required - parts.readonly_unsigned
    data_bytes = 0
    for program_index, _, data in parts.instructions:
        data_bytes += len(data)
        each = _PRECOMPILE_SIGNATURE.get(parts.keys[program_index])
        if each and data:
            cost += each * data[0]
    pages = -(-loaded_bytes // _PAGE)
    return cost + locks * _WRITE_LOCK + data_bytes // _DATA_BYTES_PER_UNIT + pages * _UNITS_PER_PAGE
