"""Content: what happened in a slot, as the messages that streams are sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from livefeed.messages import Level, Reached
from upstream.geyser.cuckoo import CuckooFilter, HashedKeys
from upstream.geyser.messages import account_write, created_now
from upstream.geyser.request_filters import BlockFilter, Slices, TransactionFilter
from upstream.protobuf import geyser_pb2 as schema

_parse = schema.SubscribeUpdate.FromString
_SMALL = 512
_CERTIFICATES: tuple[Any, ...] = ("block_final_cert", "skip_reward_cert", "notar_reward_cert")


class AccountMessage:
    """The last write of an account in a slot; `info` is a SubscribeUpdateAccountInfo, `bank` its
    bank_id, 0 where it is not known.
    """

    __slots__ = ("_bank", "_bodies", "_info", "_slot", "write")

    def __init__(self, slot: int, info: Any, bank: int = 0) -> None:
        self.write: AccountWrite = account_write(info)
        self._bank = bank or None
        self._slot = slot
        self._info = info
        self._bodies: dict[Slices, bytes] = {}

    def body(self, slices: Slices) -> bytes:
        """The update with these parts of the data, without filters and created_at."""
        body = self._bodies.get(slices)
        if body is None:
            update = schema.SubscribeUpdateAccount(
                slot=self._slot, account=self.info(slices), bank_id=self._bank
            )
            body = schema.SubscribeUpdate(account=update).SerializeToString()
            self._bodies[slices] = body
        return body

    def info(self, slices: Slices) -> Any:
        """The account as it stands in a block."""
        if not slices:
            return self._info
        data = self.write.data
        info = schema.SubscribeUpdateAccountInfo()
        info.CopyFrom(self._info)
        info.data = b"".join(data[offset : offset + length] for offset, length in slices)
        return info


class TransactionMessage:
    """A transaction of a block; `info` is a SubscribeUpdateTransactionInfo, `bank` as of an
    AccountMessage.
    """

    def __init__(self, slot: int, info: Any, bank: int = 0) -> None:
        self.info = info
        self._bank = bank
        self._slot = slot

    @property
    def signature(self) -> bytes:
        return bytes(self.info.signature)

    @property
    def is_vote(self) -> bool:
        return bool(self.info.is_vote)

    @property
    def has_failed(self) -> bool:
        return bool(self.info.meta.err.err)

    @cached_property
    def account_keys(self) -> frozenset[bytes]:
        meta = self.info.meta
        return frozenset(
            (
                *self.info.transaction.message.account_keys,
                *meta.loaded_writable_addresses,
                *meta.loaded_readonly_addresses,
            )
        )

    @cached_property
    def token_owners(self) -> frozenset[bytes]:
        return _keys(owner for owner, _ in (*self._before.values(), *self._after.values()))

    @cached_property
    def changed_token_owners(self) -> frozenset[bytes]:
        before, after = self._before, self._after
        return _keys(
            owner
            for ours, theirs in ((before, after), (after, before))
            for index, (owner, amount) in ours.items()
            if index not in theirs or theirs[index][1] != amount
        )

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        update = schema.SubscribeUpdateTransaction(
            slot=self._slot, transaction=self.info, bank_id=self._bank
        )
        return bytes(schema.SubscribeUpdate(transaction=update).SerializeToString())

    @cached_property
    def status_body(self) -> bytes:
        """The short form."""
        info = self.info
        update = schema.SubscribeUpdateTransactionStatus(
            slot=self._slot,
            signature=info.signature,
            is_vote=info.is_vote,
            index=info.index,
            bank_id=self._bank,
        )
        if info.meta.err.err:
            update.err.err = info.meta.err.err
        return bytes(schema.SubscribeUpdate(transaction_status=update).SerializeToString())

    @property
    def _before(self) -> dict[int, tuple[str, str]]:
        return _amounts(self.info.meta.pre_token_balances)

    @property
    def _after(self) -> dict[int, tuple[str, str]]:
        return _amounts(self.info.meta.post_token_balances)


class EntryMessage:
    """An entry of a block; `info` is a SubscribeUpdateEntry."""

    def __init__(self, info: Any) -> None:
        self.info = info

    @cached_property
    def body(self) -> bytes:
        """The update without filters and created_at."""
        return bytes(schema.SubscribeUpdate(entry=self.info).SerializeToString())


@dataclass(eq=False)
class Content:
    """What is known of a slot that reached a level: `meta` is its SubscribeUpdateBlockMeta. Of
    `accounts`, `transactions` and `entries` it has what some stream wants; `ask`, `has_entries` and
    `bank` as in livefeed's Reached. `footer` is a SubscribeUpdateBlockFooter,
    `new_parents` are updates without filters and created_at.
    """

    slot: int
    parent: int | None
    level: Level
    is_whole: bool = True
    ask: int = 0
    size: int = _SMALL
    accounts: list[AccountMessage] = field(default_factory=list)
    transactions: list[TransactionMessage] = field(default_factory=list)
    meta: Any = None
    account_count: int = 0
    entries: list[EntryMessage] = field(default_factory=list)
    has_entries: bool = True
    bank: int = 0
    new_parents: list[bytes] = field(default_factory=list)
    footer: Any = None
    _blocks: dict[object, bytes] = field(default_factory=dict)
    _hashed: dict[tuple[str, int], HashedKeys] = field(default_factory=dict)

    @cached_property
    def created_at(self) -> bytes:
        return created_now()

    @cached_property
    def by_pubkey(self) -> dict[bytes, int]:
        """Places of `accounts`."""
        return {each.write.pubkey: place for place, each in enumerate(self.accounts)}

    @cached_property
    def by_owner(self) -> dict[bytes, list[int]]:
        found = defaultdict(list)
        for place, each in enumerate(self.accounts):
            found[each.write.owner].append(place)
        return found

    @cached_property
    def by_key(self) -> dict[bytes, list[int]]:
        """Places of `transactions` by each account that they name."""
        found = defaultdict(list)
        for place, each in enumerate(self.transactions):
            for key in each.account_keys:
                found[key].append(place)
        return found

    def accounts_among(self, within: CuckooFilter) -> frozenset[bytes]:
        """The keys of `accounts` that are within the filter."""
        return self._among(within, "accounts", lambda: self.by_pubkey)

    def mentions_among(
        self, within: CuckooFilter, wanted: TransactionFilter | None = None
    ) -> frozenset[bytes]:
        """Of what `transactions` name those that are; `wanted` says whether their token accounts'
        owners are named too.
        """
        if wanted is None or wanted.token_accounts is None:
            return self._among(within, "mentions", lambda: self.by_key)
        keys_of, mode = wanted.keys_of, wanted.token_accounts
        return self._among(
            within, f"mentions {mode}", lambda: {*chain(*map(keys_of, self.transactions))}
        )

    def _among(
        self, within: CuckooFilter, what: str, keys: Callable[[], Iterable[bytes]]
    ) -> frozenset[bytes]:
        # Filters have one seed, as a rule: keys are hashed once for all streams.
        hashed = self._hashed.get((what, within.seed))
        if hashed is None:
            hashed = self._hashed[what, within.seed] = HashedKeys(keys(), within.seed)
        return frozenset(within.among(hashed))

    @cached_property
    def meta_body(self) -> bytes:
        return bytes(schema.SubscribeUpdate(block_meta=self.meta).SerializeToString())

    def footer_body(self, *, certificates: bool) -> bytes:
        """The block's footer, which there must be, without filters and created_at."""
        update = schema.SubscribeUpdate(block_footer=self.footer)
        for name in () if certificates else _CERTIFICATES:
            update.block_footer.ClearField(name)
        return bytes(update.SerializeToString())

    def status_body(self) -> bytes:
        """That the slot reached the level."""
        return slot_body(self.slot, self.parent, int(self.level), bank=self.bank)

    def block_body(self, wanted: BlockFilter, slices: Slices) -> bytes:
        """The block with the parts that are wanted, without filters and created_at."""
        body = self._blocks.get((wanted, slices))
        if body is None:
            body = self._blocks[wanted, slices] = self._block(wanted, slices)
        return body

    def _block(self, wanted: BlockFilter, slices: Slices) -> bytes:
        meta = self.meta
        update = schema.SubscribeUpdate()
        block = update.block
        block.slot, block.blockhash = meta.slot, meta.blockhash
        block.parent_slot, block.parent_blockhash = meta.parent_slot, meta.parent_blockhash
        block.rewards.CopyFrom(meta.rewards)
        for name in ("block_time", "block_height"):
            if meta.HasField(name):
                getattr(block, name).CopyFrom(getattr(meta, name))
        block.executed_transaction_count = meta.executed_transaction_count
        block.entries_count = meta.entries_count
        block.bank_id = meta.bank_id
        block.updated_account_count = self.account_count
        within = wanted.within
        if wanted.transactions:
            among = None if within is None else self.mentions_among(within)
            block.transactions.extend(
                each.info for each in self.transactions if wanted.includes(each.account_keys, among)
            )
        if wanted.accounts:
            among = None if within is None else self.accounts_among(within)
            block.accounts.extend(
                each.info(slices)
                for each in self.accounts
                if wanted.includes((each.write.pubkey,), among)
            )
        if wanted.entries:
            block.entries.extend(each.info for each in self.entries)
        return bytes(update.SerializeToString())


def content_of(reached: Reached) -> Content:
    """What the live feed sent of a slot. Raises Unreadable."""
    number = reached.slot
    packed = (*reached.accounts, *reached.transactions, *reached.entries)
    return Content(
        number,
        reached.parent,
        reached.level,
        reached.is_whole,
        reached.ask,
        _SMALL + sum(map(len, packed)),
        [
            AccountMessage(number, update.account, update.bank_id)
            for update in (_parse(each).account for each in reached.accounts)
        ],
        [
            TransactionMessage(number, update.transaction, update.bank_id)
            for update in (_parse(each).transaction for each in reached.transactions)
        ],
        None if reached.block is None else _parse(reached.block).block_meta,
        reached.account_count,
        [EntryMessage(_parse(each).entry) for each in reached.entries],
        reached.has_entries,
        reached.bank,
        [_bare(each) for each in reached.new_parents],
        _parse(reached.footer).block_footer if reached.footer else None,
    )


def _bare(packed: bytes) -> bytes:
    """The update without filters and created_at."""
    update = _parse(packed)
    update.ClearField("filters")
    update.ClearField("created_at")
    return bytes(update.SerializeToString())


def slot_body(
    slot: int, parent: int | None, status: int, dead_error: str = "", *, bank: int = 0
) -> bytes:
    """That a slot reached a status (a number of SlotStatus); `bank` 0 where none is known."""
    update = schema.SubscribeUpdateSlot(slot=slot, status=status)  # type: ignore[arg-type]
    if parent is not None:
        update.parent = parent
    if dead_error:
        update.dead_error = dead_error
    if bank:
        update.bank_id = bank
    return bytes(schema.SubscribeUpdate(slot=update).SerializeToString())


def _amounts(balances: Iterable[Any]) -> dict[int, tuple[str, str]]:
    return {each.account_index: (each.owner, each.ui_token_amount.amount) for each in balances}


def _keys(texts: Iterable[str]) -> frozenset[bytes]:
    return frozenset(bytes(Pubkey.from_string(text)) for text in {*texts} - {""})
