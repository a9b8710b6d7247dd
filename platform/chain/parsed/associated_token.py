"""The associated token account program's instructions."""

from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Layout, Parser, Typed, variant

_CREATED = ("source", "account", "wallet", "mint", "systemProgram", "tokenProgram")

_VARIANTS: dict[int, Parser] = {
    0: Layout("create", _CREATED, exact=True),
    1: Layout("createIdempotent", _CREATED, exact=True),
    2: Layout(
        "recoverNested",
        (
            "nestedSource",
            "nestedMint",
            "destination",
            "nestedOwner",
            "ownerMint",
            "wallet",
            "tokenProgram",
        ),
        exact=True,
    ),
}


def parse_associated_token(accounts: list[str], data: bytes) -> Typed:
    """Type and info of an associated token account instruction; no data means create."""
    cursor = Cursor(data)
    return variant(_VARIANTS, cursor.u8() if data else 0)(accounts, cursor)
