"""Filters as staff set them: owners and accounts whose writes are not archived."""

from solders.pubkey import Pubkey

from rewind.models import ArchiveState, FilteredPubkey, Owner


def locked_state() -> ArchiveState:
    """The archive's state, locked until the transaction ends."""
    ArchiveState.objects.get_or_create(id=1)
    return ArchiveState.objects.select_for_update().get(id=1)


def set_owner(pubkey: Pubkey, *, filtered: bool) -> Owner:
    return Owner.objects.update_or_create(pubkey=pubkey, defaults={"filtered": filtered})[0]


def set_account(pubkey: Pubkey, *, filtered: bool) -> None:
    if filtered:
        FilteredPubkey.objects.get_or_create(pubkey=pubkey)
    else:
        FilteredPubkey.objects.filter(pubkey=pubkey).delete()


def owners() -> list[Pubkey]:
    """The filtered ones, oldest first."""
    return [owner.pubkey for owner in Owner.objects.filter(filtered=True).order_by("id")]


def accounts() -> list[Pubkey]:
    return [each.pubkey for each in FilteredPubkey.objects.order_by("pubkey")]
