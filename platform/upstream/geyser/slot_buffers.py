"""Messages received of one slot, and the proof of how complete they are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from google.protobuf.message import DecodeError

from chain.encodings import b58decode
from chain.units import U64_MAX
from upstream.geyser.block_contents import is_of_block
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate
from upstream.protobuf import geyser_pb2 as schema

# Written by every bank, outside transactions: without them the unsigned writes did not all come.
EVERY_SLOT = tuple(
    b58decode(key)
    for key in (
        "SysvarC1ock11111111111111111111111111111111",
        "SysvarS1otHashes111111111111111111111111111",
        "SysvarS1otHistory11111111111111111111111111",
        "SysvarRecentB1ockHashes11111111111111111111",
    )
)
CLOCK, SLOT_HASHES, SLOT_HISTORY, RECENT_BLOCKHASHES = EVERY_SLOT
_UNSIGNED = b""


class Wholeness(IntEnum):
    """How much of a slot is proved to be there; each includes those before it."""

    PARTIAL = 0
    LEDGER = 1  # the block and all its transactions
    LAST_WRITES = 2  # ... and at least the last write of each account
    EVERY_WRITE = 3  # ... and every write, if a live connection lost nothing in its middle
    PROVED = 4  # ... and a write of each account that a transaction could write


class _Proof(NamedTuple):
    """Whether every certain write came, and those of untouched accounts; accounts whose write by
    the bank is missing, and the last transaction that wrote each of the others.
    """

    every: bool
    untouched: bool
    unsigned: set[bytes]
    last: dict[bytes, int]


@dataclass(slots=True)
class SlotBuffer:
    """Of one bank in one connection: writes by (pubkey, write_version), transactions by index. With
    `bank` 0 what names no bank, perhaps of several. `spare` are messages that contradict others.
    """

    writes: dict[tuple[bytes, int], AccountUpdate] = field(default_factory=dict)
    transactions: dict[int, TransactionUpdate] = field(default_factory=dict)
    meta: BlockMetaUpdate | None = None
    size: int = 0
    # Whether it came as it happened, from its beginning, and not as a replay, which may have no
    # more than the last write of each account.
    live: bool = False
    bank: int = 0
    spare: list[AccountUpdate | TransactionUpdate | BlockMetaUpdate] = field(default_factory=list)

    def put(self, update: AccountUpdate | TransactionUpdate | BlockMetaUpdate) -> int:
        """Adds a message as it came, once; returns the bytes that it added."""
        known: AccountUpdate | TransactionUpdate | BlockMetaUpdate
        if isinstance(update, AccountUpdate):
            known = self.writes.setdefault((update.pubkey, update.write_version), update)
        elif isinstance(update, TransactionUpdate):
            known = self.transactions.setdefault(update.transaction_index, update)
        else:
            known = self.meta = self.meta or update
        if known is not update:
            if any(is_same(each, update) for each in (known, *self.spare)):
                return 0
            self.spare.append(update)
        self.size += len(update.packed)
        return len(update.packed)

    def add_transaction(self, update: TransactionUpdate) -> bool:
        """False when another transaction is known at the index: two versions of the slot met."""
        known = self.transactions.setdefault(update.transaction_index, update)
        if known is update:
            self.size += len(update.packed)
        return known.signature == update.signature

    def add_meta(self, update: BlockMetaUpdate) -> bool:
        """False when another block is known for the slot."""
        if self.meta is None:
            self.meta = update
            self.size += len(update.packed)
        return self.meta.blockhash == update.blockhash

    def joined(self, other: "SlotBuffer") -> "SlotBuffer | None":
        """Both together; None where they are not proved to be of one bank: of the same block on the
        same validator, which was not restarted meanwhile.
        """
        if not self.size or not other.size:
            return self if self.size else other
        if not self._is_of_bank_of(other):
            return None
        result = SlotBuffer({**self.writes, **other.writes}, dict(self.transactions), self.meta)
        for transaction in other.transactions.values():
            if not result.add_transaction(transaction):
                return None
        if other.meta is not None and not result.add_meta(other.meta):
            return None
        result.size = self.size + other.size
        if not result._is_in_order() or self._is_of_another(other) or result.shows_two_banks():
            return None
        # A slot that came live stays live behind a replay that adds nothing.
        adds = result.meta is not self.meta or len(result.writes) > len(self.writes)
        return result if adds or len(result.transactions) > len(self.transactions) else self

    def _is_of_bank_of(self, other: "SlotBuffer") -> bool:
        """Whether both have the block's message, or an equal write, or are one run of versions."""
        if self.meta is not None and other.meta is not None:
            return True
        both = self.writes.keys() & other.writes.keys()
        if both:
            return all(is_same(self.writes[key], other.writes[key]) for key in both)
        versions = [version for _, version in (*self.writes, *other.writes)]
        return bool(versions) and max(versions) - min(versions) + 1 == len(versions)

    def _is_of_another(self, other: "SlotBuffer") -> bool:
        """Whether another validator sent the other: a bank writes these accounts once, so that
        each has one version alone.
        """
        mine, theirs = self._of_every_slot(), other._of_every_slot()
        both = {pubkey for pubkey, _ in mine} & {pubkey for pubkey, _ in theirs}
        return both != {pubkey for pubkey, _ in mine & theirs}

    def _of_every_slot(self) -> set[tuple[bytes, int]]:
        return {key for key in self.writes if key[0] in EVERY_SLOT}

    def _is_in_order(self) -> bool:
        """Whether each account's versions rise with the transactions that wrote it, each once."""
        order = {each.signature: index for index, each in self.transactions.items()}
        newest: dict[bytes, int] = {}
        for pubkey, version in sorted(self.writes):
            index = order.get(self.writes[pubkey, version].signature)
            if index is None:
                continue
            if newest.get(pubkey, -1) >= index:
                return False
            newest[pubkey] = index
        return True

    def shows_two_banks(self) -> bool:
        """Whether one bank cannot have sent all of it. A bank writes an account once for each
        transaction, and the sysvars of EVERY_SLOT once: SlotHashes first, then Clock, both before
        its transactions, and Clock again behind them where block footers have the time (Alpenglow).
        """
        meta, writes = self.meta, self.writes
        if self.spare or (meta is not None and len(self.transactions) > meta.transaction_count):
            return True
        if meta is not None and not meta.slot:
            return False  # what a chain starts with, in no bank's order
        signed = {
            (key[0], each.signature): key[1] for key, each in writes.items() if each.signature
        }
        unsigned = [key for key, each in writes.items() if not each.signature]
        if len(signed) + len(unsigned) < len(writes):
            return True
        versions: dict[bytes, list[int]] = {pubkey: [] for pubkey in EVERY_SLOT}
        for pubkey, version in unsigned:
            if pubkey in versions:
                versions[pubkey].append(version)
        clocks = sorted(versions.pop(CLOCK))
        if any(len(each) > 1 for each in versions.values()):
            return True
        began, froze = versions[SLOT_HASHES], versions[SLOT_HISTORY]
        ran = max(signed.values(), default=-1)
        others = [version for pubkey, version in unsigned if pubkey not in EVERY_SLOT]
        if froze and ran < froze[0] < max(others, default=-1):
            return True  # a bank that froze writes no more
        if len(clocks) > 1:
            last = max([*began, clocks[0], ran])
            has_footer = len(clocks) == 2 and began < clocks[:1] and last < clocks[1]
            return not has_footer or any(clocks[1] > each for each in froze)
        first = min([*froze, *versions[RECENT_BLOCKHASHES], *signed.values()], default=U64_MAX)
        if meta is None or max([*began, *clocks], default=-1) < first:
            return False
        # Perhaps a server that numbers its replay otherwise.
        return not is_of_block(
            writes.values(),
            self.transactions.values(),
            meta,
            slot_hashes=SLOT_HASHES,
            recent_blockhashes=RECENT_BLOCKHASHES,
        )

    def has_every_transaction(self) -> bool:
        """Whether the block said how many it has, and they are there, numbered from 0."""
        if self.meta is None or len(self.transactions) != self.meta.transaction_count:
            return False
        return not self.transactions or max(self.transactions) == len(self.transactions) - 1

    def wholeness(
        self, is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool = True
    ) -> Wholeness:
        """What the messages prove; `is_blockhash` separates blockhashes from the values of nonces.

        Where the validator does not store what a transaction left untouched, such an account cannot
        be distinguished from one whose message is missing: a slot that came live has every write
        when all sure ones are there, for a connection loses nothing in its middle.
        """
        if not self.has_every_transaction() or self.meta is None:
            return Wholeness.PARTIAL
        proof = self._proof(is_blockhash, stores_untouched=stores_untouched)
        if proof.every and proof.untouched:
            return Wholeness.PROVED
        if proof.every and self.live and not stores_untouched:
            return Wholeness.EVERY_WRITE
        return Wholeness.LEDGER if self._without_last(proof) else Wholeness.LAST_WRITES

    def without_last_write(
        self, is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool
    ) -> set[bytes]:
        """Of a buffer with every transaction, the accounts whose last write surely did not come."""
        return self._without_last(self._proof(is_blockhash, stores_untouched=stores_untouched))

    def _proof(self, is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool) -> _Proof:
        present = {(each.pubkey, each.signature) for each in self.writes.values()}
        every = untouched = True
        last: dict[bytes, int] = {}
        for index in range(len(self.transactions)):
            transaction = self.transactions[index]
            signature = transaction.signature
            for pubkey in transaction.written:
                last[pubkey] = index
                every = every and (pubkey, signature) in present
            for pubkey in transaction.untouched:
                untouched = untouched and (pubkey, signature) in present
                if stores_untouched:
                    last[pubkey] = index
            nonce = transaction.nonce
            if nonce is not None and not is_blockhash(nonce.blockhash):
                last[nonce.pubkey] = index
                every = every and (nonce.pubkey, signature) in present
        unsigned = list(EVERY_SLOT)
        for pubkey, by_fees in self.meta.rewarded if self.meta is not None else ():
            every = every and (pubkey, _UNSIGNED) in present
            # Fees come after the transactions, an epoch's rewards before them.
            if by_fees or pubkey not in last:
                unsigned.append(pubkey)
        for pubkey in unsigned:
            last.pop(pubkey, None)
            every = every and (pubkey, _UNSIGNED) in present
        missing = {pubkey for pubkey in unsigned if (pubkey, _UNSIGNED) not in present}
        return _Proof(every, untouched, missing, last)

    def _without_last(self, proof: _Proof) -> set[bytes]:
        newest = self._newest_writes()
        return proof.unsigned | {
            pubkey for pubkey, index in proof.last.items() if newest.get(pubkey, -1) < index
        }

    def _newest_writes(self) -> dict[bytes, int]:
        """The index of the last transaction with a write, for each account; one above
        all where the bank wrote it after the transactions, as it does the incinerator.
        """
        order = {each.signature: index for index, each in self.transactions.items()}
        signed = [each.write_version for each in self.writes.values() if each.signature in order]
        last_version = max(signed, default=None)
        newest: dict[bytes, int] = {}
        for each in self.writes.values():
            index = order.get(each.signature, -1)
            if last_version is not None and each.signature == _UNSIGNED:
                index = len(order) if each.write_version > last_version else -1
            if index > newest.get(each.pubkey, -1):
                newest[each.pubkey] = index
        return newest

    def own_writes(self) -> list[AccountUpdate]:
        """The writes, but for those of transactions that are not in the block: a version of the
        slot that died made them.
        """
        own = {each.signature for each in self.transactions.values()}
        own.add(_UNSIGNED)
        return [each for each in self.writes.values() if each.signature in own]


def is_same(
    one: AccountUpdate | TransactionUpdate | BlockMetaUpdate,
    other: AccountUpdate | TransactionUpdate | BlockMetaUpdate,
) -> bool:
    """Whether both say the same, sent at whatever time."""
    if one.packed == other.packed:
        return True
    try:
        return _content(one.packed) == _content(other.packed)
    except DecodeError:
        return False


def _content(packed: bytes) -> bytes:
    message = schema.SubscribeUpdate.FromString(packed)
    message.ClearField("created_at")
    message.ClearField("filters")
    return bytes(message.SerializeToString(deterministic=True))
