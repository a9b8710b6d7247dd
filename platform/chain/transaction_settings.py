"""The settings of a transaction: what it asks for, and what it is given.

Legacy and version 0 transactions ask by instructions of the Compute Budget program, and get
defaults for the rest. Version 1 (SIMD-0385) has its settings in-line: what it does not ask for it
does not get, and Compute Budget instructions in it mean nothing. Rules of Agave 4.4.0:
`compute_budget_instruction_details.rs`, and `transaction_meta.rs` of solana-runtime-transaction.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from solders.message import MessageV0, MessageV1, VersionedMessage

from chain import addresses
from chain.transactions import Version, Wire
from chain.units import U64_MAX

COMPUTE_BUDGET = bytes(addresses.COMPUTE_BUDGET)
MOST_UNITS = 1_400_000
MOST_LOADED_BYTES = 64 * 1024 * 1024
LEAST_HEAP = 32 * 1024
MOST_HEAP = 256 * 1024
_MICRO_LAMPORTS = 1_000_000
# Default units per instruction: builtins need few.
_UNITS_OF_BUILTIN = 3_000
_UNITS_OF_PROGRAM = 200_000
_BUILTINS = frozenset(
    map(
        bytes,
        addresses.BUILTINS - {addresses.ZK_PROOFS, addresses.SECP256R1} | {addresses.LOADER_4},
    )
)
_HEAP, _UNITS, _PRICE, _LOADED_BYTES = 1, 2, 3, 4
_SIZES = {_HEAP: 4, _UNITS: 4, _PRICE: 8, _LOADED_BYTES: 4}

_ZK_PROOFS = bytes(addresses.ZK_PROOFS)
# They use no units.
_PRECOMPILES = frozenset(map(bytes, addresses.PRECOMPILES))

# A program and an instruction's data.
ProgramCall: TypeAlias = tuple[bytes, bytes]
WillFail: TypeAlias = Literal[
    "MaxLoadedAccountsDataSizeExceeded", "ComputationalBudgetExceeded", "ProgramFailedToComplete"
]


class InLine(Protocol):
    """The settings in a version 1 message: chain's Config, or solders' TransactionConfig."""

    @property
    def priority_fee(self) -> int | None: ...
    @property
    def compute_unit_limit(self) -> int | None: ...
    @property
    def loaded_accounts_data_size_limit(self) -> int | None: ...
    @property
    def heap_size(self) -> int | None: ...


class BadSettings(Exception):
    """No transaction with these settings can be in a block. `err` is the TransactionError in the
    node's JSON form.
    """

    def __init__(self, err: str | dict[str, Any]) -> None:
        super().__init__(err)
        self.err = err


class Asked(NamedTuple):
    """What a transaction asks for; None for what it does not. Units; micro-lamports for each unit
    (legacy and version 0 only); lamports for all of it (version 1 only); bytes.
    """

    version: Version
    compute_unit_limit: int | None = None
    unit_price: int | None = None
    priority_fee: int | None = None
    loaded_accounts_data_size_limit: int | None = None
    heap_size: int | None = None


class Settings(NamedTuple):
    """What a transaction is given: compute units, heap and loaded accounts in bytes, and what it
    pays for its priority, in lamports. `unit_price` is what that comes to, in micro-lamports for
    each unit: where a fee was rounded up to a lamport, more than was asked for.
    `will_fail`: the error that a version 1 transaction ends with whatever the accounts are, since
    it asks for no size of its accounts (and then only pays), or for no units (its first instruction
    that uses any then fails).
    """

    asked: Asked
    units: int
    heap_size: int
    loaded_bytes: int
    priority_fee: int
    unit_price: int
    will_fail: WillFail | None = None


def settings_of(
    version: Version,
    calls: Iterable[ProgramCall],
    in_line: InLine | None,
    *,
    builtins_take_less: bool = True,
) -> Settings:
    """What a transaction with these instructions and in-line settings is given. BadSettings for
    unreadable or repeated Compute Budget instructions and for values out of range.
    `builtins_take_less`: builtins get fewer default units than other programs, the rule of today.
    """
    if version == 1:
        return _in_line(calls, in_line)
    asked: dict[int, tuple[int, int]] = {}
    default_units = 0
    for index, (program, data) in enumerate(calls):
        if program == COMPUTE_BUDGET:
            _read(index, data, asked)
        default_units += _default_units(program, builtins_take_less)
    if not asked:  # as most transactions
        units = min(default_units, MOST_UNITS)
        return Settings(Asked(version), units, LEAST_HEAP, MOST_LOADED_BYTES, 0, 0)
    if _HEAP in asked and not _is_heap_size(asked[_HEAP][1]):
        raise BadSettings({"InstructionError": [asked[_HEAP][0], "InvalidInstructionData"]})
    if _LOADED_BYTES in asked and asked[_LOADED_BYTES][1] == 0:
        raise BadSettings("InvalidLoadedAccountsDataSizeLimit")
    said = Asked(
        version,
        compute_unit_limit=_value(asked, _UNITS),
        unit_price=_value(asked, _PRICE),
        loaded_accounts_data_size_limit=_value(asked, _LOADED_BYTES),
        heap_size=_value(asked, _HEAP),
    )
    units = default_units if said.compute_unit_limit is None else said.compute_unit_limit
    units = min(units, MOST_UNITS)
    priority_fee = min(-(-(said.unit_price or 0) * units // _MICRO_LAMPORTS), U64_MAX)
    loaded_bytes = said.loaded_accounts_data_size_limit or MOST_LOADED_BYTES
    return Settings(
        said,
        units=units,
        heap_size=said.heap_size or LEAST_HEAP,
        loaded_bytes=min(loaded_bytes, MOST_LOADED_BYTES),
        priority_fee=priority_fee,
        unit_price=_unit_price(priority_fee, units),
    )


def settings_of_wire(wire: Wire) -> Settings:
    """What a decoded transaction is given; BadSettings as by `settings_of`."""
    keys = wire.account_keys
    calls = (
        (keys[each.program_index] if each.program_index < len(keys) else b"", each.data)
        for each in wire.instructions
    )
    return settings_of(wire.version, calls, wire.config)


def settings_of_message(message: VersionedMessage) -> Settings:
    """What a transaction with this message is given; BadSettings as by `settings_of`."""
    keys = message.account_keys
    calls = (
        (bytes(keys[at]) if (at := each.program_id_index) < len(keys) else b"", each.data)
        for each in message.instructions
    )
    if isinstance(message, MessageV1):
        return settings_of(1, calls, message.config)
    return settings_of(0 if isinstance(message, MessageV0) else "legacy", calls, None)


def _in_line(calls: Iterable[ProgramCall], config: InLine | None) -> Settings:
    asked = Asked(1)
    if config is not None:
        asked = Asked(
            1,
            compute_unit_limit=config.compute_unit_limit,
            priority_fee=config.priority_fee,
            loaded_accounts_data_size_limit=config.loaded_accounts_data_size_limit,
            heap_size=config.heap_size,
        )
    if asked.heap_size is not None and not _is_heap_size(asked.heap_size):
        raise BadSettings("SanitizeFailure")
    units = min(asked.compute_unit_limit or 0, MOST_UNITS)
    loaded_bytes = min(asked.loaded_accounts_data_size_limit or 0, MOST_LOADED_BYTES)
    priority_fee = asked.priority_fee or 0
    will_fail: WillFail | None = None
    if loaded_bytes == 0:
        will_fail = "MaxLoadedAccountsDataSizeExceeded"
    elif units == 0:
        will_fail = _without_units(calls)
    return Settings(
        asked,
        units=units,
        heap_size=asked.heap_size or LEAST_HEAP,
        loaded_bytes=loaded_bytes,
        priority_fee=priority_fee,
        unit_price=_unit_price(priority_fee, units),
        will_fail=will_fail,
    )


def _without_units(calls: Iterable[ProgramCall]) -> WillFail | None:
    """What the first instruction ends with that uses units; None if none does."""
    for program, _ in calls:
        if program not in _PRECOMPILES:
            is_native = program in _BUILTINS or program == _ZK_PROOFS
            return "ComputationalBudgetExceeded" if is_native else "ProgramFailedToComplete"
    return None


def _read(index: int, data: bytes, asked: dict[int, tuple[int, int]]) -> None:
    kind = data[0] if data else 0
    size = _SIZES.get(kind)
    # Bytes after the value are ignored.
    if size is None or len(data) < 1 + size:
        raise BadSettings({"InstructionError": [index, "InvalidInstructionData"]})
    if kind in asked:
        raise BadSettings({"DuplicateInstruction": index})
    asked[kind] = index, int.from_bytes(data[1 : 1 + size], "little")


def _value(asked: dict[int, tuple[int, int]], kind: int) -> int | None:
    found = asked.get(kind)
    return None if found is None else found[1]


def _unit_price(priority_fee: int, units: int) -> int:
    """Agave's `compute_unit_price_in_microlamports`: 0 for a price beyond u64, too."""
    price = priority_fee * _MICRO_LAMPORTS // units if units else 0
    return price if price <= U64_MAX else 0


def _is_heap_size(size: int) -> bool:
    return LEAST_HEAP <= size <= MOST_HEAP and size % 1024 == 0


def _default_units(program: bytes, builtins_take_less: bool) -> int:
    if not builtins_take_less:
        return 0 if program == COMPUTE_BUDGET else _UNITS_OF_PROGRAM
    return _UNITS_OF_BUILTIN if program in _BUILTINS else _UNITS_OF_PROGRAM
