"""How long a transaction may be as text: the rules of Agave's RPC since 4.2.2.

Source: `decode_and_deserialize` in `rpc.rs` of solana-rpc 4.2.2 to 4.4.0.
"""

from typing import NamedTuple

from chain.transaction_limits import MOST_BYTES, MOST_BYTES_IN_BASE58, limits_of

NEWEST_VERSION = 1
# Base58 was not extended for version 1.
_LONGEST_BASE58 = 1_683
_FIRST_LATER_BYTE = 0x82
# The letters that a first byte of 0x81 has in base64. The node compares text: from 0xd0 on a byte
# has digits and signs, which sort before letters.
_VERSION_1_LETTERS = "gQ"


class TextLimits(NamedTuple):
    """The longest text, in bytes of UTF-8, and the most bytes that it may hold."""

    longest_text: int
    most_bytes: int
    is_base58: bool

    def text_too_long(self, what: str, text: str) -> str:
        """The node's words for a text above the limit."""
        name = "base58" if self.is_base58 else "base64"
        return (
            f"{name} encoded {what} too large: {len(text.encode(errors='replace'))} bytes"
            f" (max: encoded/raw {self.longest_text}/{self.most_bytes})"
        )

    def too_large(self, what: str, size: int) -> str:
        """The node's words for more bytes than the limit."""
        return f"decoded {what} too large: {size} bytes (max: {self.most_bytes} bytes)"


_IN_BASE58 = TextLimits(_LONGEST_BASE58, MOST_BYTES_IN_BASE58, is_base58=True)


def _in_base64(most_bytes: int) -> TextLimits:
    return TextLimits((most_bytes + 2) // 3 * 4, most_bytes, is_base58=False)


_OLDER = _in_base64(limits_of(0).size)
_VERSION_1 = _in_base64(MOST_BYTES)


def limits_of_text(text: str, *, is_base58: bool) -> TextLimits:
    """The limits of a transaction, or of a message, before its text is decoded. In base64 the first
    byte decides, by its letters.
    """
    if is_base58:
        return _IN_BASE58
    return _VERSION_1 if len(text) > 1 and text[:2] >= _VERSION_1_LETTERS else _OLDER


def later_version(data: bytes) -> int | None:
    """The version of a transaction above version 1, in the form of version 1 or in that of version
    0, whose signatures come first; None for all others.
    """
    if not data:
        return None
    # The count of signatures is one byte: no transaction has room for more than 127.
    at = 0 if data[0] > 0x7F else 1 + 64 * data[0]
    return data[at] & 0x7F if at < len(data) and data[at] >= _FIRST_LATER_BYTE else None
