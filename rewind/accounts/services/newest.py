"""Accounts as the archive knows them last, or knew them at the end of a slot."""

from collections.abc import Sequence

from solders.account import Account
from solders.pubkey import Pubkey

from rewind.accounts.services.loading import account_of
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.positions import Position

_HIGHEST_SLOT = 2**62


def newest_accounts(pubkeys: Sequence[Pubkey]) -> dict[Pubkey, Account]:
    """The newest recorded state of each account; those that are closed, or not recorded, are left
    out.
    """
    looked_up = look_up_slot(_HIGHEST_SLOT)
    if looked_up.latest is None:
        return {}
    return _at_end_of(looked_up.latest, pubkeys, looked_up.layout)


def accounts_after(pubkeys: Sequence[Pubkey], slot: int) -> dict[Pubkey, Account]:
    """The same at the end of the slot; the newest state of those that were not known then."""
    looked_up = look_up_slot(slot)
    found = _at_end_of(slot, pubkeys, looked_up.layout)
    unknown = [pubkey for pubkey in pubkeys if pubkey not in found]
    return found | newest_accounts(unknown) if unknown else found


def _at_end_of(slot: int, pubkeys: Sequence[Pubkey], layout: int) -> dict[Pubkey, Account]:
    keys = {bytes(pubkey): pubkey for pubkey in pubkeys}
    states = newest_states(list(keys), Position.end_of(slot), layout)
    found = {keys[key]: account_of(state) for key, state in states.items()}
    return {pubkey: account for pubkey, account in found.items() if account is not None}
