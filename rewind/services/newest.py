"""Accounts as the archive knows them last."""

from collections.abc import Sequence

from solders.account import Account
from solders.pubkey import Pubkey

from rewind.positions import Position
from rewind.services.loading import account_of
from rewind.store.slot_lookup import look_up_slot
from rewind.store.states import newest_states

_HIGHEST_SLOT = 2**62


def newest_accounts(pubkeys: Sequence[Pubkey]) -> dict[Pubkey, Account]:
    """The newest recorded state of each account; those that are closed, or not recorded, are left
    out.
    """
    looked_up = look_up_slot(_HIGHEST_SLOT)
    if looked_up.latest is None:
        return {}
    keys = {bytes(pubkey): pubkey for pubkey in pubkeys}
    states = newest_states(list(keys), Position.end_of(looked_up.latest), looked_up.layout)
    found = {keys[key]: account_of(state) for key, state in states.items()}
    return {pubkey: account for pubkey, account in found.items() if account is not None}
