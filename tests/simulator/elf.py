"""Handmade programs: an ELF file of a few instructions, so that no binary is needed."""

import struct

_SECTIONS = b"\0.text\0.dynamic\0.dynsym\0.dynstr\0.rel.dyn\0.shstrtab\0"
_HEADER, _PROGRAM_HEADER, _SECTION_HEADER = 64, 56, 64
_DYNAMIC_SIZE = 128
_SYMTAB, _STRTAB, _STRSZ, _SYMENT, _REL, _RELSZ, _RELENT = 6, 5, 10, 11, 17, 18, 19
_R_BPF_64_32 = 10


def op(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    """One instruction of the VM."""
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def elf(text: bytes, calls: dict[int, bytes] | None = None) -> bytes:
    """An sBPF v0 file of this code; `calls` names the syscall of each call instruction, by the
    instruction's number.
    """
    calls = calls or {}
    names = sorted(set(calls.values()))
    strings, places = b"\0", {}
    for name in names:
        places[name] = len(strings)
        strings += name + b"\0"
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", places[name], 0x10, 0, 0, 0, 0) for name in names
    )
    text_at = _aligned(_HEADER + 3 * _PROGRAM_HEADER, 16)
    dynamic_at = _aligned(text_at + len(text), 8)
    symbols_at = dynamic_at + _DYNAMIC_SIZE
    strings_at = symbols_at + len(symbols)
    relocations_at = _aligned(strings_at + len(strings), 8)
    relocations = b"".join(
        struct.pack("<QQ", text_at + 8 * at, 1 + names.index(name) << 32 | _R_BPF_64_32)
        for at, name in calls.items()
    )
    tags = [
        (_SYMTAB, symbols_at),
        (_STRTAB, strings_at),
        (_STRSZ, len(strings)),
        (_SYMENT, 24),
    ]
    if relocations:
        tags += [(_REL, relocations_at), (_RELSZ, len(relocations)), (_RELENT, 16)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags).ljust(_DYNAMIC_SIZE, b"\0")
    names_at = relocations_at + len(relocations)
    sections_at = _aligned(names_at + len(_SECTIONS), 8)
    read_only = names_at - symbols_at
    pieces = {
        0: b"\x7fELF\2\1\1".ljust(16, b"\0")
        + struct.pack(
            "<HHIQQQIHHHHHH", 3, 247, 1, text_at, 64, sections_at, 0, 64, 56, 3, 64, 7, 6
        ),
        _HEADER: _segment(1, 5, text_at, len(text), 0x1000)
        + _segment(1, 4, symbols_at, read_only, 0x1000)
        + _segment(2, 6, dynamic_at, len(dynamic), 8),
        text_at: text,
        dynamic_at: dynamic,
        symbols_at: symbols,
        strings_at: strings,
        relocations_at: relocations,
        names_at: _SECTIONS,
        sections_at: bytes(_SECTION_HEADER)
        + _section(b".text", 1, 6, text_at, text_at, len(text))
        + _section(b".dynamic", 6, 3, dynamic_at, dynamic_at, len(dynamic), 4, 0, 8, 16)
        + _section(b".dynsym", 11, 2, symbols_at, symbols_at, len(symbols), 4, 1, 8, 24)
        + _section(b".dynstr", 3, 2, strings_at, strings_at, len(strings), 0, 0, 1)
        + _section(b".rel.dyn", 9, 2, relocations_at, relocations_at, len(relocations), 3, 0, 8, 16)
        + _section(b".shstrtab", 3, 0, 0, names_at, len(_SECTIONS), 0, 0, 1),
    }
    file = bytearray()
    for at, piece in pieces.items():
        file += bytes(at - len(file)) + piece
    return bytes(file)


def _aligned(at: int, to: int) -> int:
    return -(-at // to) * to


def _file_header(entry: int, sections_at: int) -> bytes:
    sizes = (_HEADER, _PROGRAM_HEADER, 3, _SECTION_HEADER, 7, 6)
    rest = struct.pack("<HHIQQQIHHHHHH", 3, 247, 1, entry, _HEADER, sections_at, 0, *sizes)
    return b"\x7fELF\2\1\1".ljust(16, b"\0") + rest


def _segment(kind: int, flags: int, at: int, size: int, align: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, align)


def _section(
    name: bytes,
    kind: int,
    flags: int,
    address: int,
    at: int,
    size: int,
    link: int = 0,
    info: int = 0,
    align: int = 8,
    entry: int = 0,
) -> bytes:
    # With the zero before it: ".dyn" must not be found inside ".rel.dyn".
    place = _SECTIONS.index(b"\0" + name + b"\0") + 1
    return struct.pack(
        "<IIQQQQIIQQ", place, kind, flags, address, at, size, link, info, align, entry
    )


EXIT = op(0x95)
RETURN_0 = op(0xB7, 0, 0, 0, 0)
CALL = op(0x85, 0, 0, 0, -1)

SUCCEEDS = elf(RETURN_0 + EXIT)
LOGS = elf(RETURN_0 + CALL + EXIT, {1: b"sol_log_64_"})
NEVER_ENDS = elf(op(0x05, 0, 0, -1, 0) + EXIT)
# Four bytes of the heap, which begins as zeros, so that the first is made 1.
RETURNS_DATA = elf(
    op(0x18, 1)
    + op(0, imm=3)
    + op(0x72, 1, 0, 0, 1)
    + op(0xB7, 2, 0, 0, 4)
    + CALL
    + RETURN_0
    + EXIT,
    {4: b"sol_set_return_data"},
)


def fails_with(code: int) -> bytes:
    """A program that always returns this custom error."""
    return elf(op(0xB7, 0, 0, 0, code) + EXIT)
