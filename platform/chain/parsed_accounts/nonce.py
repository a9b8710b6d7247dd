"""A durable nonce's account."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError

_SIZE = 80
_INITIALIZED = 1


def parse_nonce_account(data: bytes, decimals_of: Callable[[str], int | None]) -> dict[str, Any]:
    """An initialized nonce; any other account of the System program is unreadable."""
    if len(data) != _SIZE:
        raise UnreadableError
    cursor = Cursor(data)
    if cursor.u32() > 1 or cursor.u32() != _INITIALIZED:
        raise UnreadableError
    return {
        "info": {
            "authority": cursor.pubkey(),
            "blockhash": cursor.pubkey(),
            "feeCalculator": {"lamportsPerSignature": cursor.u64_text()},
        },
        "type": "initialized",
    }
