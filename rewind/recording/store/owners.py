"""Owners' numbers, and what staff filter: owners and accounts whose writes are not archived."""

from collections.abc import Collection

from solders.pubkey import Pubkey

from columns.advisory_locks import AdvisoryLock, wait_for
from columns.kept import Remembered
from columns.queries import execute
from columns.raw_queries import fetch_all
from rewind.models import ArchiveState, FilteredPubkey, Owner

# Some 15 MB.
_MOST_PUBKEYS = 100_000

_pubkeys: Remembered[int, bytes] = Remembered()


def ids_of(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    """The number of each owner; new ones get theirs. Read again for each batch: an owner that a
    transaction brought in is not there when that is rolled back.
    """
    found = known_ids(pubkeys)
    new = sorted(set(pubkeys) - found.keys())
    if new:
        # Without the lock, two who bring in the same owners could wait for each other.
        wait_for(AdvisoryLock.OWNERS)
        execute(
            "INSERT INTO rewind_owner (pubkey, filtered)"
            " SELECT new.pubkey, false FROM unnest(%s::bytea[]) AS new (pubkey)"
            " WHERE NOT EXISTS (SELECT FROM rewind_owner WHERE pubkey = new.pubkey)"
            " ON CONFLICT DO NOTHING",
            [new],
        )
        found = known_ids(pubkeys)
    return found


def pubkeys_of(ids: Collection[int]) -> dict[int, bytes]:
    """The owners of these numbers, which are never given again."""
    missing = [number for number in ids if number not in _pubkeys]
    if missing:
        if len(_pubkeys) + len(missing) > _MOST_PUBKEYS:
            _pubkeys.clear()
            missing = list(ids)
        _pubkeys.update(
            fetch_all("SELECT id, pubkey FROM rewind_owner WHERE id = ANY($1)", missing)
        )
    return {number: _pubkeys[number] for number in ids}


def owner_id(pubkey: Pubkey) -> int | None:
    return Owner.objects.filter(pubkey=pubkey).values_list("pk", flat=True).first()


def filtered_owners() -> dict[bytes, int]:
    """With their numbers."""
    return dict(fetch_all("SELECT pubkey, id FROM rewind_owner WHERE filtered"))


def filtered_pubkeys() -> set[bytes]:
    return {pubkey for (pubkey,) in fetch_all("SELECT pubkey FROM rewind_filteredpubkey")}


def known_ids(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    """Those of the owners that have a number, with it."""
    if not pubkeys:
        return {}
    rows = fetch_all("SELECT pubkey, id FROM rewind_owner WHERE pubkey = ANY($1)", list(pubkeys))
    return dict(rows)


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


def owners_in_order() -> list[Pubkey]:
    """The filtered ones, oldest first."""
    return [owner.pubkey for owner in Owner.objects.filter(filtered=True).order_by("id")]


def accounts_in_order() -> list[Pubkey]:
    """The filtered ones."""
    return [each.pubkey for each in FilteredPubkey.objects.order_by("pubkey")]
