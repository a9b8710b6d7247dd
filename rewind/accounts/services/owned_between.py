"""The accounts of a program, or all, at the ends of past slots, for subscribers who were away."""

from collections.abc import Collection
from dataclasses import dataclass, field

from columns.packed_data import unpack
from rewind.accounts.services.written_between import Written
from rewind.accounts.store.large_data import packed_data
from rewind.accounts.store.slot_reads import last_writes
from rewind.positions import END_OF_SLOT
from rewind.recording.store import owners as owner_store
from rewind.sealed.packing.changes import Change
from rewind.sealed.packing.slot_owners import prefix_of, prefixes_of
from rewind.sealed.store import slot_owners


@dataclass(slots=True)
class OwnedWrite:
    """The account as the slot left it; its data is read when it is asked for."""

    pubkey: bytes
    owner: bytes
    _change: Change
    _packed: bytes | None

    def written(self) -> Written:
        """With its data. Raises SlotTooOld when it just left the window."""
        change, packed = self._change, self._packed
        if packed is None:
            packed = packed_data(change.pubkey, change.slot, change.position)
        return Written(
            change.slot,
            change.position if 0 <= change.position < END_OF_SLOT else None,
            change.lamports,
            self.owner,
            unpack(packed),
            change.executable,
            change.rent_epoch,
            change.position,
        )

    @property
    def order(self) -> tuple[int, bytes]:
        return self._change.position, self.pubkey


@dataclass(slots=True)
class OwnedSlots:
    """The writes of each slot that has some, in the order of the transactions that made them, up to
    the slot `last`; `listed` are the slots up to there that can be read so at all.
    """

    last: int
    slots: dict[int, list[OwnedWrite]] = field(default_factory=dict)
    listed: set[int] = field(default_factory=set)


def owned_between(
    owners: Collection[bytes] | None, first: int, last: int, *, most: int
) -> OwnedSlots:
    """What these owners' accounts, or all, were at the ends of the slots that wrote them; both ends
    inclusive. It ends early behind about so many writes, at least one slot. Slots that were
    recorded before lists of their accounts were kept are not `listed`. Raises ArchiveDamaged and
    ArchiveStoreUnavailable.
    """
    names = None if owners is None else owner_store.known_ids(owners)
    found = OwnedSlots(last)
    by_slot: dict[int, set[int]] = {}
    count = 0
    for slot, listed in slot_owners.between(first, last):
        prefixes = set(prefixes_of(listed, None if names is None else names.values()))
        if by_slot and count + len(prefixes) > most:
            found.last = slot - 1
            break
        found.listed.add(slot)
        if prefixes:
            by_slot[slot] = prefixes
            count += len(prefixes)
    if not by_slot:
        return found
    wanted = sorted(set().union(*by_slot.values()))
    writes = last_writes(wanted, min(by_slot), max(by_slot))
    ids = owner_store.pubkeys_of({change.owner_id for change, _ in writes.values()})
    for (pubkey, slot), (change, packed) in writes.items():
        owner = ids[change.owner_id]
        is_listed = slot in by_slot and prefix_of(pubkey) in by_slot[slot]
        if is_listed and (owners is None or owner in owners):
            write = OwnedWrite(pubkey, owner, change, packed)
            found.slots.setdefault(slot, []).append(write)
    for each in found.slots.values():
        each.sort(key=lambda write: write.order)
    return found


def is_filtered(owner: bytes) -> bool:
    """Whether a filter leaves out the owner's accounts now."""
    return owner in owner_store.filtered_owners()
