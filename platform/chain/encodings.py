"""Bytes as text: base58 and base64, both ways; and zstd frames unpacked."""

import binascii
import string
from functools import lru_cache

import zstandard
from solders.pubkey import Pubkey
from solders.signature import Signature

# 58**86 < 2**504, so any 86 base58 digits fit a 64-byte signature, whose text form solders makes
# and reads in native code. Longer data is cut into leaves of 86 digits.
_LEAF_DIGITS = 86
_LEAF: int = 58**_LEAF_DIGITS
# Two leaves' worth put in front fills the 64th byte exactly, which is what a signature must have.
_LEAF_FILL = 2 * _LEAF
_LEAF_FILL_DIGIT = "3"
_PADDING = bytes(64)
# Four bytes of zstd can expand to 128 KiB: the size of a read limits the size of its output.
_ZSTD_STEP = 256
_MOST_ZSTD_WINDOW = 1 << 27

_BASE58 = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RUST_ESCAPES = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_BASE64 = f"{string.ascii_uppercase}{string.ascii_lowercase}{string.digits}+/".encode()
_PAD = ord("=")


def b58encode(data: bytes) -> str:
    """Base58 (Bitcoin's alphabet) of bytes of any length; every leading zero byte is a `1`."""
    size = len(data)
    if size == 32:
        return str(Pubkey(data))  # in a third of the time
    if size == 64:
        return str(Signature(data))
    if size < 64:
        return str(Signature(_PADDING[size:] + data))[64 - size :]
    digits = data.lstrip(b"\0")
    zeros = size - len(digits)
    # 504 bits are a leaf's worth; one leaf too many only costs leading digits, cut off again.
    leaves = len(digits) // 63 + 1
    return "1" * zeros + _digits(int.from_bytes(digits), leaves).lstrip("1")


def b58decode(text: str) -> bytes:
    """The bytes of base58 text; ValueError if a character is not base58, with the standard node's
    words (the crate bs58).
    """
    digits = text.lstrip("1")
    zeros = len(text) - len(digits)
    if not digits:
        return bytes(zeros)
    try:
        value = _value(digits)
    except ValueError:
        raise ValueError(_base58_fault(text)) from None
    return bytes(zeros) + value.to_bytes((value.bit_length() + 7) // 8)


def _base58_fault(text: str) -> str:
    """What Rust's decoder reports of the first character that is not base58."""
    for index, byte in enumerate(text.encode("utf-8", "surrogatepass")):
        if byte > 127:
            return f"NonAsciiCharacter {{ index: {index} }}"
        if byte not in _BASE58:
            shown = _RUST_ESCAPES.get(chr(byte)) or chr(byte)
            if not shown.isprintable():
                shown = f"\\u{{{byte:x}}}"
            return f"InvalidCharacter {{ character: '{shown}', index: {index} }}"
    return "not base58"


def b64encode(data: bytes) -> str:
    """Standard base64 with padding."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def b64decode(text: str) -> bytes:
    """The bytes of standard base64; ValueError on anything but its one canonical form, with the
    words of the newest standard node (the crate base64 0.23.1).
    """
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise ValueError(_base64_fault(text)) from None
    # The last symbol may carry bits that belong to no byte: the standard node refuses them.
    if b64encode(data) != text:
        raise ValueError(_base64_fault(text))
    return data


def _base64_fault(text: str) -> str:
    """What Rust's decoder reports of text that is not canonical base64."""

    def invalid(at: int, byte: int) -> str:
        return f"Invalid symbol {byte}, offset {at}."

    data = text.encode("utf-8", "surrogatepass")
    last_quad = max(len(data) - 1, 0) // 4 * 4
    if len(data) % 4 == 1 and not _is_symbol(data[-1]) and data[-1] != _PAD:
        return invalid(len(data) - 1, data[-1])
    for at, byte in enumerate(data[:last_quad]):
        if not _is_symbol(byte):
            return invalid(at, byte)
    end = last_quad
    for at, byte in enumerate(data[last_quad:], last_quad):
        if byte == _PAD:
            if at - last_quad < 2:
                return invalid(at, byte)
        elif end < at:  # behind padding
            return invalid(end, _PAD)
        elif not _is_symbol(byte):
            return invalid(at, byte)
        else:
            end = at + 1
    if end - last_quad < 2:
        return f"Invalid input length: {end}"
    if len(data) % 4:
        return "Invalid padding"
    last = data[end - 1]
    value = _BASE64.index(last)
    return (
        f"Invalid last symbol {last:#04x} ('{chr(last)}') at offset {end - 1}, decoded as"
        f" {value:#010b}."
    )


def _is_symbol(byte: int) -> bool:
    return byte in _BASE64


def unzstd(packed: bytes, *, most: int) -> bytes:
    """The content of one zstd frame; ValueError if it is malformed, cut off, followed by other
    bytes, or unpacks to more than `most` bytes.
    """
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MOST_ZSTD_WINDOW).decompressobj()
    pieces, size = [], 0
    try:
        for at in range(0, len(packed), _ZSTD_STEP):
            if unpacker.eof:
                break
            pieces.append(unpacker.decompress(packed[at : at + _ZSTD_STEP]))
            size += len(pieces[-1])
            if size > most:
                raise ValueError(f"it unpacks to more than {most} bytes")
    except zstandard.ZstdError:
        raise ValueError("not zstd") from None
    if not unpacker.eof:
        raise ValueError("the zstd frame is cut off")
    if unpacker.unused_data or at + _ZSTD_STEP < len(packed):
        raise ValueError("more than one zstd frame")
    return b"".join(pieces)


def _digits(value: int, leaves: int) -> str:
    if leaves == 1:
        leaf = str(Signature(value.to_bytes(64))).lstrip("1")
        return leaf.rjust(_LEAF_DIGITS, "1")
    low = leaves // 2
    above, below = divmod(value, _leaves(low))
    return _digits(above, leaves - low) + _digits(below, low)


def _value(digits: str) -> int:
    if len(digits) <= _LEAF_DIGITS:
        filled = _LEAF_FILL_DIGIT + digits.rjust(_LEAF_DIGITS, "1")
        try:
            leaf = bytes(Signature.from_string(filled))
        except ValueError:
            raise ValueError("not base58") from None
        return int.from_bytes(leaf) - _LEAF_FILL
    low = (len(digits) // _LEAF_DIGITS + 1) // 2
    split = len(digits) - low * _LEAF_DIGITS
    return _value(digits[:split]) * _leaves(low) + _value(digits[split:])


# Few counts occur: halving makes no more than two a level.
@lru_cache(maxsize=32)
def _leaves(count: int) -> int:
    power: int = _LEAF**count
    return power
