"""Durable nonce accounts."""

from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import RawAccount

_INITIALIZED = 1


def parse_nonce_account(raw: RawAccount) -> dict[str, Any]:
    """An initialized nonce; any other account of the System program is unreadable."""
    cursor = Cursor(raw.data)
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
