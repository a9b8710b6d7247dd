"""The address lookup table program's instructions."""

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Layout, Parser, Typed, variants

_TABLE = ("lookupTableAccount", "lookupTableAuthority")


def _new_addresses(cursor: Cursor) -> list[str]:
    count = cursor.u64()
    if count * 32 > len(cursor.data):
        raise UnreadableError
    return [cursor.pubkey() for _ in range(count)]


_EXTEND = Layout("extendLookupTable", _TABLE, (("newAddresses", _new_addresses),))


def _extend(accounts: list[str], cursor: Cursor) -> Typed:
    name, info = _EXTEND(accounts, cursor)
    if len(accounts) >= 4:
        info["payerAccount"] = accounts[2]
        info["systemProgram"] = accounts[3]
    return name, info


_VARIANTS: dict[int, Parser] = {
    0: Layout(
        "createLookupTable",
        (*_TABLE, "payerAccount", "systemProgram"),
        (("recentSlot", Cursor.u64), ("bumpSeed", Cursor.u8)),
    ),
    1: Layout("freezeLookupTable", _TABLE),
    2: _extend,
    3: Layout("deactivateLookupTable", _TABLE),
    4: Layout("closeLookupTable", (*_TABLE, "recipient")),
}
parse_lookup_table = variants(_VARIANTS)
