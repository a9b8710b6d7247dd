"""A transaction's limits, from its Compute Budget instructions, and its fee."""

from dataclasses import dataclass

from solders.pubkey import Pubkey

from chain.units import U64_MAX
from simulator.addresses import (
    COMPUTE_BUDGET,
    ED25519,
    LOADER_1,
    LOADER_2,
    LOADER_3,
    LOADER_4,
    SECP256K1,
    SECP256R1,
    SYSTEM,
    VOTE,
)
from simulator.errors import Refused
from simulator.parts import Parts

LAMPORTS_PER_SIGNATURE = 5_000
MOST_UNITS = 1_400_000
MOST_LOADED_BYTES = 64 * 1024 * 1024
_LEAST_HEAP = 32 * 1024
_MOST_HEAP = 256 * 1024
_MICRO_LAMPORTS = 1_000_000
# Default units per instruction: builtins need few.
_UNITS_OF_BUILTIN = 3_000
_UNITS_OF_PROGRAM = 200_000
_BUILTINS = frozenset(
    {SYSTEM, VOTE, COMPUTE_BUDGET, LOADER_1, LOADER_2, LOADER_3, LOADER_4, SECP256K1, ED25519}
)
_PRECOMPILES = frozenset({SECP256K1, ED25519, SECP256R1})
_HEAP, _UNITS, _PRICE, _LOADED_BYTES = 1, 2, 3, 4
_SIZES = {_HEAP: 4, _UNITS: 4, _PRICE: 8, _LOADED_BYTES: 4}


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in units and bytes, the heap's bytes, and the fee in lamports."""

    units: int
    heap: int
    loaded_bytes: int
    fee: int


def read_budget(parts: Parts, *, builtins_take_less: bool = True) -> Budget:
    """The transaction's budget. Refused, as by the node, for unreadable or repeated instructions
    and values out of range.
    """
    asked: dict[int, tuple[int, int]] = {}
    signatures = parts.required
    default_units = 0
    keys = parts.keys
    for index, instruction in enumerate(parts.instructions):
        program = keys[instruction.program_index]
        if program == COMPUTE_BUDGET:
            _read(index, instruction.data, asked)
        elif program in _PRECOMPILES and instruction.data:
            signatures += instruction.data[0]
        default_units += _default_units(program, builtins_take_less)
    heap = _LEAST_HEAP
    if _HEAP in asked:
        index, heap = asked[_HEAP]
        if not _LEAST_HEAP <= heap <= _MOST_HEAP or heap % 1024:
            raise Refused({"InstructionError": [index, "InvalidInstructionData"]})
    _, units = asked.get(_UNITS, (0, default_units))
    units = min(units, MOST_UNITS)
    _, loaded_bytes = asked.get(_LOADED_BYTES, (0, MOST_LOADED_BYTES))
    if loaded_bytes == 0:
        raise Refused("InvalidLoadedAccountsDataSizeLimit")
    _, price = asked.get(_PRICE, (0, 0))
    priority_fee = min(-(-price * units // _MICRO_LAMPORTS), U64_MAX)
    fee = min(signatures * LAMPORTS_PER_SIGNATURE + priority_fee, U64_MAX)
    return Budget(units, heap, min(loaded_bytes, MOST_LOADED_BYTES), fee)


def _read(index: int, data: bytes, asked: dict[int, tuple[int, int]]) -> None:
    kind = data[0] if data else 0
    size = _SIZES.get(kind)
    # Bytes after the value are ignored.
    if size is None or len(data) < 1 + size:
        raise Refused({"InstructionError": [index, "InvalidInstructionData"]})
    if kind in asked:
        raise Refused({"DuplicateInstruction": index})
    asked[kind] = index, int.from_bytes(data[1 : 1 + size], "little")


def _default_units(program: Pubkey, builtins_take_less: bool) -> int:
    if not builtins_take_less:
        return 0 if program == COMPUTE_BUDGET else _UNITS_OF_PROGRAM
    return _UNITS_OF_BUILTIN if program in _BUILTINS else _UNITS_OF_PROGRAM
