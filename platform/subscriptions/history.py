"""What ledger and archive hold of a range of slots, as notifications. For threads."""

from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58decode
from historical.errors import UnsupportedTransactionVersion
from historical.services import blocks, recorded_transactions
from historical.services.stored_content import Unreadable, transactions_of
from historical.store import blocks as ledger
from livefeed.messages import Level
from rewind.services import slots as archive
from rewind.services.newest import newest_accounts
from rewind.services.written_between import archived_links, written_between
from subscriptions.content import Content, Ran, Written, account_of
from subscriptions.kinds import (
    AccountSubscription,
    BlockSubscription,
    LogsSubscription,
    Result,
    RootSubscription,
    Subscription,
    encode,
)

# Slots that are read at once.
WINDOW_SLOTS = 100
_MOST_SLOT = 2**62


@dataclass(slots=True)
class Page:
    """The notifications of a range's slots up to `last`, ascending, and its gaps: (first, last,
    status). `last` is below the range's end where the next slot is not stored yet.
    """

    last: int
    slots: list[tuple[int, list[Result]]] = field(default_factory=list)
    gaps: list[tuple[int, int, str]] = field(default_factory=list)


def place_of(signature: str) -> tuple[int, int] | None:
    """The slot and index of a stored transaction."""
    return recorded_transactions.place_of(Signature.from_string(signature))


def bounds_of(subscription: Subscription) -> tuple[int, int] | None:
    """The lowest and the highest slot that is stored; None for nothing."""
    if isinstance(subscription, AccountSubscription):
        return archive.bounds()
    return ledger.bounds()


def read(subscription: Subscription, first: int, last: int, *, waits: bool) -> Page:
    """The range's slots, both ends inclusive; all below `last` should be stored. A missing slot
    ends the page if it may still come (`waits`), and is a gap otherwise.
    """
    is_account = isinstance(subscription, AccountSubscription)
    links = (
        archived_links(first, last)
        if is_account
        else ledger.links_between(first, last, and_next=True)
    )
    page = Page(last)
    before = first - 1
    stored = []
    for slot, parent in links:
        if parent > before:  # so that has a block, which is not stored
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
    for slot, results in _results(subscription, first, stored):
        page.slots.append((slot, results))
    return page


def _results(
    subscription: Subscription, first: int, stored: list[int]
) -> list[tuple[int, list[Result]]]:
    if not stored:
        return []
    if isinstance(subscription, RootSubscription):
        return [(slot, [(b"%d" % slot, None)]) for slot in stored]
    if isinstance(subscription, AccountSubscription):
        return _of_account(subscription, first, stored[-1])
    if isinstance(subscription, BlockSubscription):
        return [(slot, [(_block(subscription, slot), None)]) for slot in stored]
    assert isinstance(subscription, LogsSubscription)
    found = []
    for slot in stored:
        content = Content(slot, None, Level.FINALIZED, transactions=_transactions(slot))
        found.append((slot, list(subscription.results(content, _nothing))))
    return found


def _of_account(
    subscription: AccountSubscription, first: int, last: int
) -> list[tuple[int, list[Result]]]:
    key = bytes(subscription.pubkey)
    found = []
    for each in written_between(key, first, last):
        account = account_of(each.lamports, each.data, each.owner, each.executable, each.rent_epoch)
        content = Content(
            each.slot, None, Level.FINALIZED, accounts=[Written(key, account, each.place)]
        )
        mints = newest_accounts(list(subscription.mints(content)))
        found.append((each.slot, list(subscription.results(content, mints.get))))
    return found


def _block(subscription: BlockSubscription, slot: int) -> bytes:
    head = b'{"context":{"slot":%d},"value":{"slot":%d,' % (slot, slot)
    try:
        block = blocks.block(
            slot,
            encoding=subscription.encoding,
            details=subscription.details,
            rewards=subscription.rewards,
            max_version=subscription.max_version,
        )
    except UnsupportedTransactionVersion as error:
        wrong = encode({"UnsupportedTransactionVersion": error.data.get("version")})
        return head + b'"block":null,"err":' + wrong + b"}}"
    return head + b'"block":' + bytes(block) + b',"err":null}}'


def _transactions(slot: int) -> list[Ran]:
    """Raises Unreadable, also for a block that is being replaced."""
    block = ledger.block_now(slot)
    entries = transactions_of(slot)
    if block is None or block.transaction_count != len(entries):
        raise Unreadable(f"slot {slot} has {len(entries)} readable transactions")
    return [_ran(index, entry) for index, entry in enumerate(entries)]


def _ran(index: int, entry: dict[str, Any]) -> Ran:
    message, meta = entry["transaction"]["message"], entry.get("meta") or {}
    loaded = meta.get("loadedAddresses") or {}
    texts = [
        *message["accountKeys"], *(loaded.get("writable") or ()), *(loaded.get("readonly") or ())
    ]  # fmt: skip
    signatures = entry["transaction"]["signatures"]
    instructions = message["instructions"]
    is_vote = (
        entry.get("version", "legacy") == "legacy"
        and len(signatures) <= 2
        and len(instructions) == 1
        and message["accountKeys"][instructions[0]["programIdIndex"]] == _VOTE_PROGRAM
    )
    return Ran(
        index,
        b58decode(signatures[0]),
        frozenset(map(b58decode, texts)),
        is_vote,
        meta.get("err"),
        meta.get("logMessages") or [],
        _unreadable,
    )


_VOTE_PROGRAM = "Vote111111111111111111111111111111111111111"


def _unreadable() -> Any:
    raise NotImplementedError("logs need no record")


def _nothing(_pubkey: Pubkey) -> Account | None:
    return None
