"""The system program's instructions."""

from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Layout, Parser, Typed, variants

_LAMPORTS = ("lamports", Cursor.u64)
_SPACE = ("space", Cursor.u64)
_OWNER = ("owner", Cursor.pubkey)
_BASE = ("base", Cursor.pubkey)
_SEED = ("seed", Cursor.bincode_text)

_CREATE_UNFUNDED = Layout("createAccountAllowPrefund", ("newAccount",))
_CREATE_FUNDED = Layout("createAccountAllowPrefund", ("newAccount", "source"))


def _create_account_allow_prefund(accounts: list[str], cursor: Cursor) -> Typed:
    lamports, space, owner = cursor.u64(), cursor.u64(), cursor.pubkey()
    # Without lamports to move there is no payer, and its account is left out.
    layout = _CREATE_FUNDED if lamports else _CREATE_UNFUNDED
    name, info = layout(accounts, cursor)
    if lamports:
        info["lamports"] = lamports
    info["space"] = space
    info["owner"] = owner
    return name, info


_VARIANTS: dict[int, Parser] = {
    0: Layout("createAccount", ("source", "newAccount"), (_LAMPORTS, _SPACE, _OWNER)),
    1: Layout("assign", ("account",), (_OWNER,)),
    2: Layout("transfer", ("source", "destination"), (_LAMPORTS,)),
    3: Layout(
        "createAccountWithSeed",
        ("source", "newAccount"),
        (_BASE, _SEED, _LAMPORTS, _SPACE, _OWNER),
    ),
    4: Layout("advanceNonce", ("nonceAccount", "recentBlockhashesSysvar", "nonceAuthority")),
    5: Layout(
        "withdrawFromNonce",
        (
            "nonceAccount",
            "destination",
            "recentBlockhashesSysvar",
            "rentSysvar",
            "nonceAuthority",
        ),
        (_LAMPORTS,),
    ),
    6: Layout(
        "initializeNonce",
        ("nonceAccount", "recentBlockhashesSysvar", "rentSysvar"),
        (("nonceAuthority", Cursor.pubkey),),
    ),
    7: Layout(
        "authorizeNonce",
        ("nonceAccount", "nonceAuthority"),
        (("newAuthorized", Cursor.pubkey),),
    ),
    8: Layout("allocate", ("account",), (_SPACE,)),
    # The base is the second account, but is shown from the data.
    9: Layout("allocateWithSeed", ("account", "base"), (_BASE, _SEED, _SPACE, _OWNER)),
    10: Layout("assignWithSeed", ("account", "base"), (_BASE, _SEED, _OWNER)),
    11: Layout(
        "transferWithSeed",
        ("source", "sourceBase", "destination"),
        (_LAMPORTS, ("sourceSeed", Cursor.bincode_text), ("sourceOwner", Cursor.pubkey)),
    ),
    12: Layout("upgradeNonce", ("nonceAccount",)),
    13: _create_account_allow_prefund,
}
# Lamports and space are numbers.
parse_system = variants(_VARIANTS)
