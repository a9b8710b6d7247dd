"""A bundle's tip: the transfers to a tip account in its transactions."""

from collections.abc import Iterable

from chain.transactions import Wire
from localnet.identities import TIP_ACCOUNTS

_SYSTEM = bytes(32)
_TRANSFER = (2).to_bytes(4, "little")
_TIP_ACCOUNTS = frozenset(map(bytes, TIP_ACCOUNTS))


def writes_tip_account(wires: Iterable[Wire]) -> bool:
    """Whether a transaction write-locks a tip account; by a lookup table it does not count."""
    return any(
        key in _TIP_ACCOUNTS and _is_writable(wire, index)
        for wire in wires
        for index, key in enumerate(wire.account_keys)
    )


def announced_tip(wires: Iterable[Wire]) -> int | None:
    """The lamports of the top-level transfers to tip accounts; None without such a transfer: then
    a program may pay a tip, which only shows when it runs.
    """
    tips = [tip for wire in wires for tip in _tips(wire)]
    return sum(tips) if tips else None


def _tips(wire: Wire) -> Iterable[int]:
    keys = wire.account_keys
    for program_index, accounts, data in wire.instructions:
        if (
            keys[program_index : program_index + 1] == [_SYSTEM]
            and len(data) == 12
            and data[:4] == _TRANSFER
            and len(accounts) >= 2
            and accounts[1] < len(keys)
            and keys[accounts[1]] in _TIP_ACCOUNTS
        ):
            yield int.from_bytes(data[4:], "little")


def _is_writable(wire: Wire, index: int) -> bool:
    signers = wire.header.required_signatures
    if index < signers:
        return index < signers - wire.header.readonly_signed
    return index < len(wire.account_keys) - wire.header.readonly_unsigned
