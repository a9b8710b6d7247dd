"""Compares a file's blocks with the ledger: which are stored, and whether the chain is the same."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from solders.hash import Hash

from chain.blocks import SlotRecord
from chain.encodings import b58encode
from chain.units import I64_MAX, Slot
from historical.blocks.services.blocks import blockhashes
from historical.blocks.store import blocks as store
from ingest import chain_identity
from ingest.errors import OtherChain, other_genesis, unknown_chain

# Slots of the ledger whose blockhashes are fetched at once.
_WINDOW_SLOTS = 8_192


@dataclass(slots=True)
class KnownBlocks:
    """The ledger's blockhashes by slot, fetched in windows: a file is in ascending order."""

    first: int = 0
    known: dict[int, str] | None = None

    def blockhash_of(self, slot: Slot) -> str | None:
        if slot > I64_MAX:
            return None
        if self.known is None or slot >= self.first + _WINDOW_SLOTS:
            self.first = slot
            self.known = blockhashes(slot, min(slot + _WINDOW_SLOTS - 1, I64_MAX))
        if slot < self.first:  # a parent before the window
            return blockhashes(slot, slot).get(slot)
        return self.known.get(slot)


class OneChain:
    """Proves that a file is of the stored chain: by the genesis hash that the operator names, or by
    a block that links to a stored one.

    Raises OtherChain, at once if nothing could prove the chain.
    """

    def __init__(self, genesis_hash: str | None) -> None:
        stored = chain_identity.known()
        if genesis_hash and stored and genesis_hash != stored:
            raise other_genesis(genesis_hash, stored)
        if not genesis_hash and not stored:
            raise unknown_chain("")
        self.is_proved = bool(genesis_hash)
        self._genesis_hash = genesis_hash or stored
        self._last: SlotRecord | None = None

    def checked(self, records: Iterable[SlotRecord], *, has_previous: bool) -> Iterator[SlotRecord]:
        """The same records; OtherChain at one that does not link to its neighbours in the file or
        in the ledger. Without `has_previous` the previous blockhash was filled in from the ledger,
        and proves nothing.
        """
        for record in records:
            self._check_last(record)
            self._check_ledger(record, has_previous)
            self._last = record
            yield record

    def claim(self, *, source: str, now: datetime) -> None:
        """Call in the transaction that stores. Raises OtherChain if nothing proved the chain."""
        if self._last is not None and not self.is_proved:
            raise unknown_chain(self._genesis_hash)
        chain_identity.claim(self._genesis_hash, source=source, now=now)

    def _check_last(self, record: SlotRecord) -> None:
        last = self._last
        if last is None or last.slot != record.parent_slot or record.slot == 0:
            return
        if last.blockhash != record.previous_blockhash:
            raise _unlinked(record, last.blockhash, "in the file")

    def _check_ledger(self, record: SlotRecord, has_previous: bool) -> None:
        if record.slot > I64_MAX:
            return
        around = store.around(record.slot, record.parent_slot)
        blockhash = bytes(Hash.from_string(record.blockhash))
        if around.parent is not None and record.slot != 0:
            if around.parent != bytes(Hash.from_string(record.previous_blockhash)):
                raise _unlinked(record, b58encode(around.parent), "here")
            self.is_proved = self.is_proved or has_previous
        if around.named_by_child is not None:
            if around.named_by_child != blockhash:
                raise OtherChain(
                    f"slot {record.slot}: its block is {record.blockhash}, but the block stored"
                    f" for slot {around.child_slot} comes after {b58encode(around.named_by_child)};"
                    " the file may be of another chain"
                )
            self.is_proved = True
        if around.own == blockhash:
            self.is_proved = True


def _unlinked(record: SlotRecord, found: str, where: str) -> OtherChain:
    return OtherChain(
        f"slot {record.slot}: its previous blockhash is {record.previous_blockhash}, but the block"
        f" of slot {record.parent_slot} {where} is {found}; the file may be of another chain"
    )
