"""Accounts whose writes are not archived: by owner, or one by one."""

from django.db import transaction
from solders.pubkey import Pubkey

from chain.addresses import STAKE, VOTE
from rewind.models import Owner
from rewind.recording.store import owners as store

MAINNET_GENESIS_HASH = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"


@transaction.atomic
def apply_defaults(genesis_hash: str) -> bool:
    """Vote and stake accounts are filtered when the chain is mainnet. Once in an archive's life:
    what staff set afterwards stays. Whether it was done now.
    """
    state = store.locked_state()
    if state.filters_set_for:
        return False
    if genesis_hash == MAINNET_GENESIS_HASH:
        # Two thirds of mainnet's writes are votes, which are never asked for.
        for program in (VOTE, STAKE):
            filter_owner(program, filtered=True)
    state.filters_set_for = genesis_hash
    state.save(update_fields=["filters_set_for"])
    return genesis_hash == MAINNET_GENESIS_HASH


def filter_owner(pubkey: Pubkey, *, filtered: bool) -> Owner:
    """From the next batch on, writes to the owner's accounts are dropped, or archived again."""
    return store.set_owner(pubkey, filtered=filtered)


def filter_account(pubkey: Pubkey, *, filtered: bool) -> None:
    """From the next batch on, writes to the account are dropped, or archived again."""
    store.set_account(pubkey, filtered=filtered)


def filtered_owners() -> list[Pubkey]:
    return store.owners_in_order()


def filtered_pubkeys() -> list[Pubkey]:
    return store.accounts_in_order()
