"""What ledger and archive hold of a range of slots, as notifications. For threads."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.addresses import CLOCK
from chain.commitment import BlockOptions
from historical.blocks.services import blocks
from historical.blocks.store import blocks as ledger
from historical.errors import UnsupportedTransactionVersion
from historical.transactions.services import recorded_transactions
from livefeed.messages import Level
from rewind.accounts.services.newest import accounts_after
from rewind.accounts.services.owned_between import is_filtered, owned_between
from rewind.accounts.services.written_between import Written as StoredWrite
from rewind.accounts.services.written_between import archived_links, written_between
from rewind.errors import ArchiveDamaged
from rewind.recording.store import slots as archive
from subscriptions import stored_blocks
from subscriptions.content import Content, Written, account_of
from subscriptions.kinds import (
    AccountSubscription,
    BlockSubscription,
    ProgramSubscription,
    Result,
    Subscription,
    encode,
)
from subscriptions.slot_kinds import (
    RootSubscription,
    SlotSubscription,
    SlotsUpdatesSubscription,
)

# Slots that are read at once.
WINDOW_SLOTS = 100
# A page ends behind so many accounts of a program, or bytes of notifications.
_MOST_WRITES = 2_000
_MOST_BYTES = 8 << 20
# A transaction's place: its slot, and its index there.
Place = tuple[int, int]
NO_PLACE: Place = (-1, -1)


@dataclass(slots=True)
class Page:
    """The notifications of a range's slots up to `last`, ascending, and its gaps: (first, last,
    status), ascending. `last` is below the range's end where the next slot is not stored yet, and
    where this was enough at once.
    """

    last: int
    slots: list[tuple[int, list[Result]]] = field(default_factory=list)
    gaps: list[tuple[int, int, str]] = field(default_factory=list)

    def end_at(self, last: int) -> None:
        """Leaves out what comes above the slot."""
        self.last = last
        self.gaps = [
            (first, min(end, last), status) for first, end, status in self.gaps if first <= last
        ]


def place_of(signature: str) -> tuple[int, int] | None:
    """The slot and index of a stored transaction."""
    return recorded_transactions.place_of(Signature.from_string(signature))


def bounds_of(subscription: Subscription) -> tuple[int, int] | None:
    """The lowest and the highest slot that is stored; None for nothing."""
    return archive.bounds() if _is_of_accounts(subscription) else ledger.bounds()


def read(
    subscription: Subscription, first: int, last: int, *, waits: bool, after: Place = NO_PLACE
) -> Page:
    """The range's slots, both ends inclusive; all below `last` should be stored. A missing slot
    ends the page if it may still come (`waits`), and is a gap otherwise. In its slot, what comes
    not `after` the place is left out.
    """
    links = (
        archived_links(first, last)
        if _is_of_accounts(subscription)
        else ledger.links_between(first, last, and_next=True)
    )
    page = Page(last)
    before = first - 1
    stored = []
    for slot, parent in links:
        # Its parent has a block, which is not stored. Slot 0 is its own parent.
        if before < parent < slot:
            if waits:
                page.last = before
                break
            page.gaps.append((before + 1, min(slot - 1, last), "missing"))
        if slot > last:
            break
        stored.append(slot)
        before = slot
    else:
        page.last = before  # what comes above it is not known yet
    if stored:
        try:
            _fill(page, subscription, first, stored, after)
        except ArchiveDamaged:
            page.slots, page.gaps = [], [(first, page.last, "damaged")]
    return page


def _is_of_accounts(subscription: Subscription) -> bool:
    return isinstance(subscription, AccountSubscription | ProgramSubscription)


def _fill(
    page: Page, subscription: Subscription, first: int, stored: list[int], after: Place
) -> None:
    if isinstance(subscription, ProgramSubscription):
        found = _of_program(page, subscription, first, stored, after)
    elif isinstance(subscription, AccountSubscription):
        found = _of_account(subscription, first, stored[-1], after)
    else:
        found = ((slot, _of_slot(subscription, slot)) for slot in stored)
    size = 0
    for slot, results in found:
        page.slots.append((slot, results))
        size += sum(len(text) for text, _ in results)
        if size > _MOST_BYTES:
            page.end_at(slot)
            return


def _of_slot(subscription: Subscription, slot: int) -> list[Result]:
    if isinstance(subscription, RootSubscription):
        return [(b"%d" % slot, None)]
    if isinstance(subscription, BlockSubscription) and subscription.mention is None:
        return [(_block(subscription, slot), None)]
    row = stored_blocks.row_of(slot)
    content = Content(slot, row.parent_slot, Level.FINALIZED)
    if isinstance(subscription, SlotSubscription):
        return [(subscription.reached(slot, row.parent_slot, slot), None)]
    content.transactions = stored_blocks.transactions(row)
    if isinstance(subscription, SlotsUpdatesSubscription):
        failed = sum(each.error is not None for each in content.transactions)
        content.at = float(row.block_time or 0)
        content.transaction_count = len(content.transactions)
        content.failed_count = failed
        return [(text, None) for text in subscription.life_of(content)]
    content.header = stored_blocks.header_of(row)
    return list(subscription.results(content, _nothing))


def _of_account(
    subscription: AccountSubscription, first: int, last: int, after: Place
) -> Iterator[tuple[int, list[Result]]]:
    key = bytes(subscription.pubkey)
    for each in written_between(key, first, last):
        if (each.slot, each.order) <= after:
            continue
        content = Content(each.slot, None, Level.FINALIZED, accounts=[_written(key, each)])
        yield each.slot, list(subscription.results(content, _needed(subscription, content).get))


def _of_program(
    page: Page, subscription: ProgramSubscription, first: int, stored: list[int], after: Place
) -> Iterator[tuple[int, list[Result]]]:
    program = bytes(subscription.program)
    if is_filtered(program):
        page.gaps = [(first, page.last, "filtered")]
        return
    found = owned_between([program], first, stored[-1], most=_MOST_WRITES)
    if found.last < stored[-1]:
        page.end_at(found.last)
    there = [slot for slot in stored if slot <= page.last]
    for is_listed, run in groupby(there, key=found.listed.__contains__):
        if not is_listed:
            slots = list(run)
            page.gaps.append((slots[0], slots[-1], "not_listed"))
    page.gaps.sort()
    for slot in sorted(found.slots):
        content = Content(slot, None, Level.FINALIZED)
        for write in found.slots[slot]:
            if (slot, write.order[0]) > after:
                content.accounts.append(_written(write.pubkey, write.written()))
        yield slot, list(subscription.results(content, _needed(subscription, content).get))


def _needed(subscription: Subscription, content: Content) -> dict[Pubkey, Account]:
    """The mints and the clock that show the content's accounts as they were."""
    mints = list(dict.fromkeys(subscription.mints(content)))
    return accounts_after([*mints, CLOCK], content.slot) if mints else {}


def _written(pubkey: bytes, each: StoredWrite) -> Written:
    account = account_of(each.lamports, each.data, each.owner, each.executable, each.rent_epoch)
    return Written(pubkey, account, each.place)


def _block(subscription: BlockSubscription, slot: int) -> bytes:
    head = b'{"context":{"slot":%d},"value":{"slot":%d,' % (slot, slot)
    try:
        block = blocks.block(
            slot,
            BlockOptions(
                encoding=subscription.encoding,
                details=subscription.details,
                rewards=subscription.rewards,
                max_version=subscription.max_version,
            ),
        )
    except UnsupportedTransactionVersion as error:
        wrong = encode({"UnsupportedTransactionVersion": error.data.get("version")})
        return head + b'"block":null,"err":' + wrong + b"}}"
    return head + b'"block":' + bytes(block) + b',"err":null}}'


def _nothing(_pubkey: Pubkey) -> Account | None:
    return None
