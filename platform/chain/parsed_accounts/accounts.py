"""parse_account: an account's data as the standard node's jsonParsed encoding shows it."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.lookup_table import parse_lookup_table_account
from chain.parsed_accounts.nonce import parse_nonce_account
from chain.parsed_accounts.token import parse_token_account

# Tells the decimals of a mint, None where it is no mint.
DecimalsOf = Callable[[str], int | None]

_PROGRAMS: dict[str, tuple[str, Callable[[bytes, DecimalsOf], dict[str, Any]]]] = {
    "11111111111111111111111111111111": ("nonce", parse_nonce_account),
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": ("spl-token", parse_token_account),
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": ("spl-token-2022", parse_token_account),
    "AddressLookupTab1e1111111111111111111111111": (
        "address-lookup-table",
        parse_lookup_table_account,
    ),
}


def parse_account(owner: str, data: bytes, decimals_of: DecimalsOf) -> dict[str, Any] | None:
    """`{"program", "parsed": {"info", "type"}, "space"}`; None where the node would not parse."""
    known = _PROGRAMS.get(owner)
    if known is None:
        return None
    program, parse = known
    try:
        parsed = parse(data, decimals_of)
    except UnreadableError:
        return None
    return {"program": program, "parsed": parsed, "space": len(data)}
