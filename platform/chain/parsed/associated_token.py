"""The associated token account program's instructions."""

from chain.parsed.layouts import Layout, Parser, variants

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

# No data means create.
parse_associated_token = variants(_VARIANTS, lambda cursor: cursor.u8() if cursor.data else 0)
