"""Content: what happened in a slot, as the messages that streams are sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from livefeed.messages import Level, Reached
from upstream.geyser.cuckoo import CuckooFilter, HashedKeys
from upstream.geyser.messages import account_write, created_now
from upstream.geyser.request_filters import BlockFilter, Slices, TransactionFilter
from upstream.geyser.sent_messages import (
    AccountMessage,
    EntryMessage,
    TransactionMessage,
    block_body,
    slot_body,
)
from upstream.protobuf import geyser_pb2 as schema

_parse = schema.SubscribeUpdate.FromString
_SMALL = 512
_CERTIFICATES: tuple[Any, ...] = ("block_final_cert", "skip_reward_cert", "notar_reward_cert")


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
        meta, within = self.meta, wanted.within
        block = schema.SubscribeUpdateBlock(
            slot=meta.slot,
            blockhash=meta.blockhash,
            parent_slot=meta.parent_slot,
            parent_blockhash=meta.parent_blockhash,
            rewards=meta.rewards,
            block_time=meta.block_time if meta.HasField("block_time") else None,
            block_height=meta.block_height if meta.HasField("block_height") else None,
            executed_transaction_count=meta.executed_transaction_count,
            entries_count=meta.entries_count,
            bank_id=meta.bank_id,
            updated_account_count=self.account_count,
        )
        return block_body(
            block,
            wanted,
            slices,
            transactions=self.transactions,
            accounts=self.accounts,
            entries=self.entries,
            mentioned=self.mentions_among(within)
            if within is not None and wanted.transactions
            else None,
            written=self.accounts_among(within) if within is not None and wanted.accounts else None,
        )


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
            AccountMessage(number, account_write(info), update.bank_id, info)
            for update in (_parse(each).account for each in reached.accounts)
            for info in (update.account,)
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
