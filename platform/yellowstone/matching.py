"""What of a slot's content each stream is sent, and what it wants of the live feed for that."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chain.commitment import Commitment
from livefeed.filters import AccountFilter as FeedFilter
from livefeed.messages import Kind, Level, Moved, Want
from upstream.geyser.cuckoo import CuckooFilter
from upstream.geyser.request_filters import (
    AccountFilter,
    BadFilter,
    Filters,
    TransactionFilter,
    named,
)
from upstream.geyser.sent_messages import AccountMessage, TransactionMessage, slot_body
from upstream.protobuf.geyser_pb2 import SlotStatus
from yellowstone.content import Content

_LEVELS = {
    Commitment.PROCESSED: Level.PROCESSED,
    Commitment.CONFIRMED: Level.CONFIRMED,
    Commitment.FINALIZED: Level.FINALIZED,
}
_MOVES: dict[str, int] = {
    "firstShredReceived": SlotStatus.SLOT_FIRST_SHRED_RECEIVED,
    "completed": SlotStatus.SLOT_COMPLETED,
    "createdBank": SlotStatus.SLOT_CREATED_BANK,
    "dead": SlotStatus.SLOT_DEAD,
}
_LEAST_CUCKOO_BYTES = 128 * 1_024
# What became of each slot, which every stream wants, and where the chain is.
HEADERS = [Want(Kind.HEADER, level) for level in Level]
TIPS = [Want(Kind.TIP, level) for level in Level]


def level_of(filters: Filters) -> Level:
    return _LEVELS[filters.commitment]


def require_served(filters: Filters, *, entries: bool) -> None:
    """Raises BadFilter where something is asked for that is not followed."""
    if entries:
        return
    if filters.entries:
        raise BadFilter("entry: entries are not followed here")
    if filters.footers:
        raise BadFilter("block_footer: footers are not followed here")
    for name, each in filters.blocks:
        if each.entries:
            raise BadFilter(f"blocks.{name}: include_entries: entries are not followed here")


def wants_entries(filters: Filters) -> bool:
    return bool(filters.entries) or any(each.entries for _, each in filters.blocks)


def misses_entries(filters: Filters, content: Content) -> bool:
    """Whether entries of the slot are wanted now that did not come."""
    is_due = content.level is level_of(filters)
    return is_due and not content.has_entries and wants_entries(filters)


@dataclass(frozen=True, slots=True)
class WrittenAccounts:
    """The accounts whose writes are wanted: by their keys and by their owners; None is all.
    `within` are filters of keys, which are found among all.
    """

    keys: frozenset[bytes]
    owners: frozenset[bytes] | None
    within: tuple[CuckooFilter, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keys or self.owners or self.within) or self.owners is None

    @property
    def are_found_by_owner(self) -> bool:
        """Whether some are, or are found among all."""
        return self.owners is None or bool(self.owners or self.within)

    @property
    def listed_owners(self) -> frozenset[bytes] | None:
        """By whose accounts all can be found but those that are by their keys; None for all."""
        return None if self.within else self.owners


def accounts_of(filters: Filters) -> WrittenAccounts:
    """What the filters want to know the writes of: at least what matches."""
    keys: set[bytes] = set()
    owners: set[bytes] = set()
    within: dict[CuckooFilter, None] = {}
    is_all = False
    for _, each in filters.accounts:
        if each.within is not None and not each.owners:
            within[each.within] = None
            keys |= each.accounts
        elif each.accounts and each.within is None:
            keys |= each.accounts
        elif each.owners:
            owners |= each.owners
        else:
            is_all = True
    for _, block in filters.blocks:
        if block.accounts:
            keys |= block.include
            if block.within is not None:
                within[block.within] = None
            elif not block.include:
                is_all = True
    if is_all:
        return WrittenAccounts(frozenset(keys), None)
    return WrittenAccounts(frozenset(keys), frozenset(owners), tuple(within))


def cuckoo_bytes(filters: Filters) -> int:
    """The size of all cuckoo filters among them; a small one counts as one of 128 KiB, for each may
    have a seed of its own, for which the follower hashes all keys of a slot.
    """
    found = (
        *(each.within for _, each in filters.accounts),
        *(each.within for _, each in (*filters.transactions, *filters.statuses)),
        *(each.within for _, each in filters.blocks),
    )
    return sum(max(each.size, _LEAST_CUCKOO_BYTES) for each in found if each is not None)


def wants_of(filters: Filters) -> list[Want]:
    """What the live feed is to send for them: at least what matches."""
    level = level_of(filters)
    found: dict[Want, None] = dict.fromkeys(HEADERS)
    for _, accounts in filters.accounts:
        found.update(dict.fromkeys(_of_accounts(accounts, level)))
    for _, transactions in (*filters.transactions, *filters.statuses):
        found.update(dict.fromkeys(_of_transactions(transactions, level)))
    for _, block in filters.blocks:
        if block.transactions:
            keys = _mentions(block.include, block.within, level)
            found.update(dict.fromkeys(keys or [Want(Kind.BLOCK, level)]))
        if block.accounts:
            keys = _accounts_by_key(block.include, block.within, level)
            found.update(dict.fromkeys(keys or [Want(Kind.ALL_ACCOUNTS, level)]))
    if any(each.interslot_updates for _, each in filters.slots):
        found[Want(Kind.UPDATES)] = None
    if wants_entries(filters):
        found[Want(Kind.ENTRIES, level)] = None
    if filters.footers:
        found[Want(Kind.FOOTERS, level)] = None
    return list(found)


def _accounts_by_key(
    keys: Iterable[bytes], within: CuckooFilter | None, level: Level
) -> list[Want]:
    found = [Want(Kind.ACCOUNT, level, key) for key in keys]
    if within is not None:
        found.append(Want(Kind.ACCOUNTS_WITHIN, level, within.packed))
    return found


def _mentions(keys: Iterable[bytes], within: CuckooFilter | None, level: Level) -> list[Want]:
    found = [Want(Kind.MENTIONS, level, key) for key in keys]
    if within is not None:
        found.append(Want(Kind.MENTIONS_WITHIN, level, within.packed))
    return found


def _of_accounts(wanted: AccountFilter, level: Level) -> Iterator[Want]:
    if keys := _accounts_by_key(wanted.accounts, wanted.within, level):
        yield from keys
    elif wanted.owners:
        filters = tuple(FeedFilter(*each) for each in wanted.selections)
        yield from (Want(Kind.PROGRAM, level, key, filters) for key in wanted.owners)
    else:
        yield Want(Kind.ALL_ACCOUNTS, level)


def _of_transactions(wanted: TransactionFilter, level: Level) -> Iterator[Want]:
    if wanted.signature is not None:
        yield Want(Kind.SIGNATURE, level, wanted.signature)
    elif wanted.required and wanted.token_accounts is None:
        yield Want(Kind.MENTIONS, level, min(wanted.required))
    elif wanted.token_accounts is None and (
        keys := _mentions(wanted.include, wanted.within, level)
    ):
        yield from keys
    elif wanted.vote is None:
        yield Want(Kind.LOGS_WITH_VOTES, level)
    else:
        yield Want(Kind.VOTES if wanted.vote else Kind.LOGS, level)


def updates(filters: Filters, content: Content) -> list[bytes]:
    """The whole updates that the content is to a stream."""
    created = content.created_at
    found: list[bytes] = []
    if content.level is level_of(filters):
        slices = filters.slices
        for each, names in _accounts(filters.accounts, content):
            found.append(names + each.body(slices) + created)
        for sent, names in _transactions(filters.transactions, content):
            found.append(names + sent.body + created)
        for sent, names in _transactions(filters.statuses, content):
            if sent.has_failed is not None:  # else its status would say that it succeeded
                found.append(names + sent.status_body + created)
        if filters.entries:
            followed = named(*(name for name, has_parents in filters.entries if has_parents))
            found += [followed + body + created for body in content.new_parents if followed]
            names = named(*(name for name, _ in filters.entries))
            found += [names + entry.body + created for entry in content.entries]
        for whole in (False, True):
            names = named(*(name for name, has_all in filters.footers if has_all is whole))
            if names and content.footer is not None:
                found.append(names + content.footer_body(certificates=whole) + created)
        if content.meta is not None:
            for name, wanted in filters.blocks:
                found.append(named(name) + content.block_body(wanted, slices) + created)
            if filters.blocks_meta:
                names = named(*(name for name, _ in filters.blocks_meta))
                found.append(names + content.meta_body + created)
    found += _status(filters, int(content.level), content.status_body, created)
    return found


def moves(filters: Filters, moved: Moved, created: bytes) -> list[bytes]:
    """The same of what a slot goes through between its commitments."""
    status = _MOVES.get(moved.update)
    if status is None:
        return []  # of commitments the content says it
    return _status(
        filters,
        status,
        lambda: slot_body(moved.slot, moved.parent, status, moved.error, bank=moved.bank),
        created,
    )


def _status(
    filters: Filters, status: int, body: Callable[[], bytes], created: bytes
) -> list[bytes]:
    names = [n for n, each in filters.slots if each.matches(status, filters.commitment)]
    return [named(*names) + body() + created] if names else []


def _accounts(
    filters: Iterable[tuple[str, AccountFilter]], content: Content
) -> Iterator[tuple[AccountMessage, bytes]]:
    names: dict[int, list[str]] = {}
    for name, each in filters:
        for place in _places_of_accounts(each, content):
            if each.fits(content.accounts[place].write):
                names.setdefault(place, []).append(name)
    for place in sorted(names):
        yield content.accounts[place], named(*names[place])


def _places_of_accounts(wanted: AccountFilter, content: Content) -> Iterable[int]:
    """Of the accounts that the filter names, at least of those that match."""
    there = content.by_pubkey
    if wanted.within is not None:
        found = content.accounts_among(wanted.within)
        return [there[key] for key in found | wanted.accounts & there.keys()]
    if wanted.accounts:
        return [there[key] for key in wanted.accounts & there.keys()]
    if wanted.owners:
        return [place for key in wanted.owners for place in content.by_owner.get(key, ())]
    return range(len(content.accounts))


def _transactions(
    filters: Iterable[tuple[str, TransactionFilter]], content: Content
) -> Iterator[tuple[TransactionMessage, bytes]]:
    names: dict[int, list[str]] = {}
    for name, each in filters:
        among = None if each.within is None else content.mentions_among(each.within, each)
        for place in _places_of_transactions(each, among, content):
            if each.matches(content.transactions[place], among):
                names.setdefault(place, []).append(name)
    for place in sorted(names):
        yield content.transactions[place], named(*names[place])


def _places_of_transactions(
    wanted: TransactionFilter, among: frozenset[bytes] | None, content: Content
) -> Iterable[int]:
    if wanted.token_accounts is None:
        if wanted.required:
            return content.by_key.get(min(wanted.required), ())
        if wanted.include or among is not None:
            keys = wanted.include & content.by_key.keys() | (among or frozenset())
            return {place for key in keys for place in content.by_key[key]}
    return range(len(content.transactions))
