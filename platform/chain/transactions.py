"""Decoding and encoding of wire transactions: legacy, version 0 and version 1."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Version: TypeAlias = Literal["legacy", 0, 1]

# The number of the version `legacy` where versions are compared.
LEGACY = -1
_VERSIONED = 0x80
_V1_FIRST_BYTE = 0x81
# With more, the first byte of a legacy transaction would read as a version.
_MOST_SIGNATURES = 127
# SIMD-0385: which in-line settings follow the keys of a version 1 message.
_PRIORITY_FEE = 0b11
_COMPUTE_UNIT_LIMIT = 0b100
_LOADED_ACCOUNTS_LIMIT = 0b1000
_HEAP_SIZE = 0b10000
_KNOWN_SETTINGS = 0b11111


class BadTransaction(ValueError):
    """Not a transaction: `reason` is why, `place` is where (`message.accountKeys[3]`, or empty)."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.place = place


class Header(NamedTuple):
    """How many keys must sign, and how many of each sort are read-only."""

    required_signatures: int
    readonly_signed: int
    readonly_unsigned: int


class Instruction(NamedTuple):
    """Indexes into the transaction's keys (static ones first, then loaded), and the data."""

    program_index: int
    accounts: bytes
    data: bytes


class Lookup(NamedTuple):
    """Keys to load from an address lookup table, by their indexes in it."""

    account_key: bytes
    writable: bytes
    readonly: bytes


class Config(NamedTuple):
    """In-line settings of a version 1 message; priority_fee in lamports, sizes in bytes."""

    priority_fee: int | None = None
    compute_unit_limit: int | None = None
    loaded_accounts_data_size_limit: int | None = None
    heap_size: int | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """A decoded transaction: 64-byte signatures, 32-byte keys and blockhash, lookups of version 0
    and settings of version 1 (None in the others).
    """

    signatures: list[bytes]
    version: Version
    header: Header
    account_keys: list[bytes]
    recent_blockhash: bytes
    instructions: list[Instruction]
    lookups: list[Lookup]
    config: Config | None = None

    @property
    def version_number(self) -> int:
        """LEGACY, 0 or 1."""
        return LEGACY if self.version == "legacy" else self.version

    @property
    def key_count(self) -> int:
        """Static keys and the ones that the lookups load."""
        count = len(self.account_keys)
        for lookup in self.lookups:
            count += len(lookup.writable) + len(lookup.readonly)
        return count


def decode_wire(data: bytes) -> Wire:
    """The parts of a wire transaction; BadTransaction if undecodable, trailed by other bytes,
    without signatures or with another number of them than its header wants.
    """
    try:
        wire, end = _v1(data) if data[0] == _V1_FIRST_BYTE else _legacy_or_v0(data)
    except IndexError:
        raise BadTransaction("the transaction ends too early") from None
    if end != len(data):
        short = end > len(data)
        raise BadTransaction(
            "the transaction ends too early" if short else "bytes follow the transaction"
        )
    return wire


def encode_wire(wire: Wire) -> bytes:
    """The wire bytes. Parts must fit their fields: from decode_wire, or checked by `sanitize`."""
    if wire.version == 1:
        return _encode_v1(wire)
    out = bytearray(_compact(len(wire.signatures)))
    out += b"".join(wire.signatures)
    if wire.version == 0:
        out.append(_VERSIONED)
    out += bytes(wire.header)
    out += _compact(len(wire.account_keys))
    out += b"".join(wire.account_keys)
    out += wire.recent_blockhash
    out += _compact(len(wire.instructions))
    for program_index, accounts, instruction_data in wire.instructions:
        out.append(program_index)
        out += _compact(len(accounts))
        out += accounts
        out += _compact(len(instruction_data))
        out += instruction_data
    if wire.version == 0:
        out += _compact(len(wire.lookups))
        for account_key, writable, readonly in wire.lookups:
            out += account_key
            out += _compact(len(writable))
            out += writable
            out += _compact(len(readonly))
            out += readonly
    return bytes(out)


def first_signature(data: bytes) -> bytes:
    """The first signature of a wire transaction; decodes version 1 only. Raises BadTransaction."""
    # Legacy and version 0 begin with the count of signatures, version 1 with a version byte.
    if len(data) > 65 and 0 < data[0] < _VERSIONED:
        return data[1:65]
    return decode_wire(data).signatures[0]


def sanitize(wire: Wire) -> None:
    """BadTransaction if a part has the wrong length or points outside the keys."""
    signatures, header, keys = wire.signatures, wire.header, wire.account_keys
    _check_signatures(len(signatures), header.required_signatures)
    if len(signatures) > _MOST_SIGNATURES:
        raise BadTransaction(f"{len(signatures)} signatures are too many", "signatures")
    for index, signature in enumerate(signatures):
        if len(signature) != 64:
            raise BadTransaction(f"{len(signature)} bytes instead of 64", f"signatures[{index}]")
    for index, key in enumerate(keys):
        if len(key) != 32:
            reason = f"{len(key)} bytes instead of 32"
            raise BadTransaction(reason, f"message.accountKeys[{index}]")
    if len(wire.recent_blockhash) != 32:
        reason = f"{len(wire.recent_blockhash)} bytes instead of 32"
        raise BadTransaction(reason, "message.recentBlockhash")
    if header.readonly_signed >= header.required_signatures:
        raise BadTransaction("no writable signer", "message.header")
    if header.required_signatures + header.readonly_unsigned > len(keys):
        raise BadTransaction(f"more keys than the {len(keys)} there are", "message.header")
    count = wire.key_count
    if count > 256:
        raise BadTransaction(f"{count} keys; the maximum is 256", "message.accountKeys")
    for index, (program_index, accounts, data) in enumerate(wire.instructions):
        if program_index >= count or (accounts and max(accounts) >= count):
            place = f"message.instructions[{index}]"
            raise BadTransaction(f"an index is outside the {count} keys", place)
        if len(data) > 0xFFFF or len(accounts) > 0xFFFF:
            raise BadTransaction("too long for its field", f"message.instructions[{index}]")
    if len(wire.instructions) > 0xFFFF or len(wire.lookups) > 0xFF:
        raise BadTransaction("too many for their field", "message")
    for index, lookup in enumerate(wire.lookups):
        if len(lookup.account_key) != 32:
            place = f"message.addressTableLookups[{index}].accountKey"
            raise BadTransaction(f"{len(lookup.account_key)} bytes instead of 32", place)
    if wire.version == 1:
        _check_fields_of_v1(wire)


def _check_fields_of_v1(wire: Wire) -> None:
    if len(wire.instructions) > 0xFF or len(wire.account_keys) > 0xFF:
        raise BadTransaction("too many for version 1", "message")
    for index, instruction in enumerate(wire.instructions):
        if len(instruction.accounts) > 0xFF:
            raise BadTransaction("too many accounts", f"message.instructions[{index}].accounts")


def _legacy_or_v0(data: bytes) -> tuple[Wire, int]:
    count, at = _read_compact(data, 0)
    signatures, at = _read_list(data, at, count, 64)
    version: Version = "legacy"
    if data[at] & _VERSIONED:
        if data[at] != _VERSIONED:
            raise BadTransaction(f"unsupported version {data[at] & 0x7F}")
        version = 0
        at += 1
    header = Header(data[at], data[at + 1], data[at + 2])
    _check_signatures(count, header.required_signatures)
    count, at = _read_compact(data, at + 3)
    keys, at = _read_list(data, at, count, 32)
    blockhash = data[at : at + 32]
    count, at = _read_compact(data, at + 32)
    instructions = []
    for _ in range(count):
        program_index = data[at]
        length, at = _read_compact(data, at + 1)
        accounts = data[at : at + length]
        length, at = _read_compact(data, at + length)
        instructions.append(Instruction(program_index, accounts, data[at : at + length]))
        at += length
    lookups = []
    if version == 0:
        count, at = _read_compact(data, at)
        for _ in range(count):
            key = data[at : at + 32]
            length, at = _read_compact(data, at + 32)
            writable = data[at : at + length]
            length, at = _read_compact(data, at + length)
            lookups.append(Lookup(key, writable, data[at : at + length]))
            at += length
    return Wire(signatures, version, header, keys, blockhash, instructions, lookups), at


def _v1(data: bytes) -> tuple[Wire, int]:
    header = Header(data[1], data[2], data[3])
    settings = int.from_bytes(data[4:8], "little")
    if settings & ~_KNOWN_SETTINGS or settings & _PRIORITY_FEE not in (0, _PRIORITY_FEE):
        raise BadTransaction(f"unknown settings {settings:#x}")
    blockhash = data[8:40]
    instruction_count, key_count = data[40], data[41]
    keys, at = _read_list(data, 42, key_count, 32)
    values: list[int | None] = []
    for bit, size in (
        (_PRIORITY_FEE, 8),
        (_COMPUTE_UNIT_LIMIT, 4),
        (_LOADED_ACCOUNTS_LIMIT, 4),
        (_HEAP_SIZE, 4),
    ):
        present = bool(settings & bit)
        values.append(int.from_bytes(data[at : at + size], "little") if present else None)
        at += size if present else 0
    payload = at + 4 * instruction_count
    instructions = []
    for _ in range(instruction_count):
        data_start = payload + data[at + 1]
        data_end = data_start + data[at + 2] + 256 * data[at + 3]
        accounts = data[payload:data_start]
        instructions.append(Instruction(data[at], accounts, data[data_start:data_end]))
        at += 4
        payload = data_end
    signatures, end = _read_list(data, payload, header.required_signatures, 64)
    _check_signatures(len(signatures), header.required_signatures)
    return Wire(signatures, 1, header, keys, blockhash, instructions, [], Config(*values)), end


def _encode_v1(wire: Wire) -> bytes:
    _check_fields_of_v1(wire)
    config = wire.config or Config()
    out = bytearray((_V1_FIRST_BYTE, *wire.header))
    settings = 0
    values = b""
    for bit, size, value in (
        (_PRIORITY_FEE, 8, config.priority_fee),
        (_COMPUTE_UNIT_LIMIT, 4, config.compute_unit_limit),
        (_LOADED_ACCOUNTS_LIMIT, 4, config.loaded_accounts_data_size_limit),
        (_HEAP_SIZE, 4, config.heap_size),
    ):
        if value is not None:
            settings |= bit
            values += value.to_bytes(size, "little")
    out += settings.to_bytes(4, "little")
    out += wire.recent_blockhash
    out += bytes((len(wire.instructions), len(wire.account_keys)))
    out += b"".join(wire.account_keys)
    out += values
    for program_index, accounts, data in wire.instructions:
        out += bytes((program_index, len(accounts)))
        out += len(data).to_bytes(2, "little")
    for _, accounts, data in wire.instructions:
        out += accounts
        out += data
    out += b"".join(wire.signatures)
    return bytes(out)


def _check_signatures(count: int, required: int) -> None:
    if count == 0:
        raise BadTransaction("no signatures", "signatures")
    if count != required:
        raise BadTransaction(f"{count} signatures where the header wants {required}", "signatures")


def _read_list(data: bytes, at: int, count: int, size: int) -> tuple[list[bytes], int]:
    end = at + count * size
    if end > len(data):
        raise IndexError
    return [data[start : start + size] for start in range(at, end, size)], end


def _read_compact(data: bytes, at: int) -> tuple[int, int]:
    """A compact-u16 and the place after it."""
    first = data[at]
    if first < 0x80:
        return first, at + 1
    second = data[at + 1]
    if second < 0x80:
        if second == 0:
            raise BadTransaction("a length is not in its shortest form")
        return first & 0x7F | second << 7, at + 2
    third = data[at + 2]
    if third == 0 or third > 3:
        raise BadTransaction("a length is no compact-u16")
    return first & 0x7F | (second & 0x7F) << 7 | third << 14, at + 3


def _compact(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
