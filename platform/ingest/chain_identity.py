"""Which chain is stored: two chains in one database would be neither."""

import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from functools import cache

from django.db import transaction
from django.utils import timezone

from chain.units import Slot
from historical.services.blocks import blockhashes
from ingest.errors import AnotherBlock, OtherChain, WrongChain, other_genesis
from ingest.models import StoredChain
from rewind.models import ArchiveState
from rewind.services import epochs, filters
from upstream.archives.errors import Unreadable
from upstream.geyser.closed_slots import ClosedSlot, slot_record
from upstream.node import Node, NodeError

_NODE_EVERY_SECONDS = 1.0
# A node that has told of no block in so many tries does not serve blocks.
_NODE_TRIES = 10


def known() -> str:
    """The genesis hash of what is stored; empty while nobody has told it."""
    told = StoredChain.objects.values_list("genesis_hash", flat=True).first()
    if told is None:
        # Databases of before the table have it of the chain that they followed.
        told = ArchiveState.objects.values_list("filters_set_for", flat=True).first()
    return told or ""


@transaction.atomic
def claim(genesis_hash: str, *, source: str, now: datetime) -> None:
    """What is stored is of this chain, from the first claim on. Raises OtherChain. In the
    transaction that stores: what is refused in the end claims nothing.
    """
    stored = known()
    if not stored:
        # Of two at once the second waits here for the first.
        row, _ = StoredChain.objects.get_or_create(
            id=1,
            defaults={"genesis_hash": genesis_hash, "source": source, "told_at": now},
        )
        stored = row.genesis_hash
    if stored != genesis_hash:
        raise other_genesis(genesis_hash, stored)


def check(node: Node) -> None:
    """The node is of the chain that is stored, or the first one; its epoch schedule is kept, where
    it tells one. Raises WrongChain, and NodeError when it cannot be asked.
    """
    genesis_hash = node.genesis_hash()
    stored = known()
    if not stored:
        with contextlib.suppress(OtherChain):  # another process was first: said below
            claim(genesis_hash, source=node.name, now=timezone.now())
        stored = known()
    if stored != genesis_hash:
        raise WrongChain(node.name, genesis_hash, stored)
    filters.apply_defaults(genesis_hash)
    # Pages are divided by it, and nothing else: a proxy that does not know the method may be used.
    with contextlib.suppress(NodeError):
        epochs.keep(node.epoch_schedule())


def require_same(node: Node) -> None:
    """The same of a node that is only asked for blocks: it claims nothing."""
    stored = known()
    if stored and _genesis_of(node) != stored:
        raise WrongChain(node.name, _genesis_of(node), stored)


@cache
def _genesis_of(node: Node) -> str:
    return node.genesis_hash()


class SameChain:
    """Whether streams are of one chain: by a block that both have, or that the ledger or the node
    has too. `handed_on` gives the blockhash of a slot that another stream brought, and `is_first`
    whether nothing is there that a stream could be held against. For any thread.
    """

    def __init__(
        self,
        node: Node | None,
        handed_on: Callable[[int], str | None],
        is_first: Callable[[int], bool],
    ) -> None:
        self._node = node
        self._handed_on = handed_on
        self._is_first = is_first
        self._asked_at = 0.0
        self._tries = 0

    def is_proved_by(self, stream: int, closed: ClosedSlot) -> bool:
        """Whether the stream's finalized block is proved to be of the chain that is followed, or
        begins it. Raises AnotherBlock where it is of another one.
        """
        for slot, blockhash in _blockhashes(closed):
            expected = self._handed_on(slot) or blockhashes(slot, slot).get(slot)
            if expected is None and slot == closed.slot:
                expected = self._of_node(Slot(slot))
            if expected == blockhash:
                return True
            if expected is not None:
                raise AnotherBlock(slot, blockhash, expected)
        cannot_ask = self._node is None or self._tries >= _NODE_TRIES
        return cannot_ask and self._is_first(stream)

    def _of_node(self, slot: Slot) -> str | None:
        now = time.monotonic()
        if self._node is None or now - self._asked_at < _NODE_EVERY_SECONDS:
            return None
        self._asked_at = now
        try:
            return self._node.blockhash(slot)
        except NodeError:
            self._tries += 1
            return None


def _blockhashes(closed: ClosedSlot) -> list[tuple[int, str]]:
    """The block's own, and its parent's, which is stored where a follower goes on."""
    try:
        parent = slot_record(closed).previous_blockhash
    except Unreadable:
        return [(closed.slot, closed.blockhash)]
    return [(closed.slot, closed.blockhash), (closed.parent_slot, parent)]
