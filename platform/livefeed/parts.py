"""Part: what one connection sent of one bank of a slot."""

from collections.abc import Callable
from dataclasses import dataclass, field

from chain.encodings import b58decode
from upstream.geyser.slot_buffers import (
    RECENT_BLOCKHASHES,
    SLOT_HASHES,
    SLOT_HISTORY,
    SlotBuffer,
    is_same,
)
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate
from upstream.protobuf import geyser_pb2 as schema

# A bank writes each of them once, outside transactions.
_ONCE = frozenset((SLOT_HASHES, SLOT_HISTORY, RECENT_BLOCKHASHES))


@dataclass(slots=True)
class Part:
    """What one connection sent of a bank: account writes, transactions by index, and the messages
    of entries by index, where they are followed. `bank` is its bank_id, 0 for messages that name
    none; `is_mixed` if they are of two banks. `size` is of all messages, each write's too. `footer`
    is the message of the block's footer.
    """

    transactions: dict[int, TransactionUpdate] = field(default_factory=dict)
    signatures: dict[bytes, TransactionUpdate] = field(default_factory=dict)
    entries: dict[int, bytes] = field(default_factory=dict)
    meta: BlockMetaUpdate | None = None
    size: int = 0
    bank: int = 0
    is_mixed: bool = False
    footer: bytes = b""
    # Sorted by account once a process wants accounts: no subscriber wants most of them.
    _written: list[AccountUpdate] = field(default_factory=list)
    _accounts: dict[bytes, AccountUpdate] = field(default_factory=dict)
    # Accounts without their last write, for each commitment the same: of messages of this size.
    _without: tuple[int, set[bytes]] | None = None
    # The versions of the accounts of _ONCE.
    _once: dict[bytes, int] = field(default_factory=dict)

    def put_account(self, update: AccountUpdate) -> None:
        """Adds an account write."""
        self._written.append(update)
        self.size += len(update.packed)
        if not update.signature and update.pubkey in _ONCE:
            version = self._once.setdefault(update.pubkey, update.write_version)
            self.is_mixed = self.is_mixed or version != update.write_version

    @property
    def accounts(self) -> dict[bytes, AccountUpdate]:
        """The last write of each account."""
        written, self._written = self._written, []
        accounts = self._accounts
        for update in written:
            known = accounts.get(update.pubkey)
            if known is None or known.write_version < update.write_version:
                accounts[update.pubkey] = update
        return accounts

    def without_last_write(
        self, is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool
    ) -> set[bytes]:
        """Of a whole part, the accounts whose last write surely did not come."""
        if self._without is None or self._without[0] != self.size:
            writes = {(each.pubkey, each.write_version): each for each in self.accounts.values()}
            found = SlotBuffer(writes, self.transactions, self.meta).without_last_write(
                is_blockhash, stores_untouched=stores_untouched
            )
            self._without = self.size, found
        return self._without[1]

    @property
    def has_accounts(self) -> bool:
        return bool(self._written or self._accounts)

    def emptied(self) -> "Part":
        """Its block's message alone."""
        return Part(meta=self.meta, bank=self.bank, is_mixed=self.is_mixed)

    def put(self, update: TransactionUpdate | BlockMetaUpdate) -> None:
        """Adds another message."""
        if isinstance(update, TransactionUpdate):
            known = self.transactions.get(update.transaction_index)
            if known is None:
                self.size += len(update.packed)
            elif not is_same(known, update):  # perhaps the same transaction, in another bank
                self.is_mixed = True
            self.transactions[update.transaction_index] = update
            self.signatures[update.signature] = update
        else:
            if self.meta is not None and self.meta.blockhash != update.blockhash:
                self.is_mixed = True
            self.meta = update

    def with_unmarked(self, unmarked: "Part") -> "Part":
        """The bank's part with what names no bank; of what the bank has itself nothing else."""
        found = Part(
            self.transactions or unmarked.transactions,
            self.signatures or unmarked.signatures,
            self.entries or unmarked.entries,
            self.meta or unmarked.meta,
            self.size + unmarked.size,
            self.bank,
            self.is_mixed,
            self.footer or unmarked.footer,
            _accounts=self.accounts or unmarked.accounts,
        )
        if not (self.has_accounts and self.transactions and self.meta):
            found.is_mixed = self.is_mixed or unmarked.is_mixed
        return found

    @property
    def is_whole(self) -> bool:
        if self.is_mixed or self.meta is None:
            return False
        return len(self.transactions) == self.meta.transaction_count

    @property
    def blockhash(self) -> str:
        return "" if self.meta is None else self.meta.blockhash

    @property
    def extent(self) -> tuple[int, int]:
        """Its entries and its bytes."""
        return len(self.entries), self.size

    @property
    def has_entries(self) -> bool:
        """Whether all entries came. A leader does not replay its own blocks, and its node counts no
        entries of them: the last one has the block's hash.
        """
        if self.meta is None:
            return False
        if self.meta.entry_count or not self.meta.slot:
            return len(self.entries) == self.meta.entry_count
        if not self.entries or len(self.entries) <= max(self.entries):
            return False
        last = schema.SubscribeUpdate.FromString(self.entries[max(self.entries)])
        return last.entry.hash == b58decode(self.meta.blockhash)
