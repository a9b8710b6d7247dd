"""A cache of the newest slot's accounts: a frozen slot does not change."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from solders.account import Account
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from columns.kept import Remembered
from shared_state.pace import slot_seconds
from upstream.http.client import Client

_MOST_BYTES = 32 * 1024 * 1024
# What an account takes beside its data.
_ACCOUNT_BYTES = 512


@dataclass(slots=True)
class KnownSlot:
    """Accounts of one slot, None for those that are not there. They count only where the node's
    answer to something else of the same call is of this slot too.
    """

    slot: int
    named_at: float
    accounts: dict[Pubkey, Account | None] = field(default_factory=dict)
    size: int = 0


_known: Remembered[tuple[Client, Commitment], KnownSlot] = Remembered()


def known_slot(node: Client, commitment: Commitment) -> KnownSlot | None:
    """The slot that the node named a moment ago as its newest. After a slot's length the node is
    likely to have gone on, and all is read at once.
    """
    known = _known.get((node, commitment))
    if known is None or time.monotonic() > known.named_at + slot_seconds():
        return None
    return known


def remember(
    node: Client,
    commitment: Commitment,
    slot: int,
    accounts: Mapping[Pubkey, Account | None],
) -> None:
    """The node has just named the slot, with these accounts. A lower slot than that of a moment
    ago, of another node behind the same address, is not kept.
    """
    known, now = known_slot(node, commitment), time.monotonic()
    if known is None or known.slot < slot:
        known = _known[node, commitment] = KnownSlot(slot, now)
    elif known.slot > slot:
        return
    known.named_at = now
    for key, account in accounts.items():
        if key not in known.accounts and known.size < _MOST_BYTES:
            known.size += _ACCOUNT_BYTES + (0 if account is None else len(account.data))
            known.accounts[key] = account
