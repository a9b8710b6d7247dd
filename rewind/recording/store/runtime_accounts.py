"""Accounts that were met as the runtime's own: features, programs of native code, sysvars."""

from collections.abc import Collection

from chain import addresses
from columns.queries import execute
from columns.raw_queries import fetch_all

FEATURE, NATIVE_LOADER = bytes(addresses.FEATURE), bytes(addresses.NATIVE_LOADER)
OWNERS = frozenset({FEATURE, NATIVE_LOADER, bytes(addresses.SYSVAR_OWNER)})


def keep(pubkeys: Collection[bytes]) -> None:
    """The accounts are known from now on; those that are known already stay so."""
    if not pubkeys:
        return
    execute(
        "INSERT INTO rewind_runtimeaccount (pubkey) SELECT unnest(%s::bytea[])"
        " ON CONFLICT DO NOTHING",
        [sorted(pubkeys)],
    )


def known() -> list[bytes]:
    """All of them: some hundreds."""
    return [pubkey for (pubkey,) in fetch_all("SELECT pubkey FROM rewind_runtimeaccount")]
