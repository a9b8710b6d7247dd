"""Which chain is followed: two chains in one archive would be neither."""

import contextlib
import time
from collections.abc import Callable

from chain.units import Slot
from historical.services.blocks import blockhashes
from ingest.errors import AnotherBlock, WrongChain
from rewind.models import ArchiveState
from rewind.services import epochs, filters
from upstream.archives.errors import Unreadable
from upstream.geyser.closed_slots import ClosedSlot, slot_record
from upstream.node import Node, NodeError

_NODE_EVERY_SECONDS = 1.0
# A node that has told of no block in so many tries does not serve blocks.
_NODE_TRIES = 10


def check(node: Node) -> None:
    """The node is of the chain that was followed before, or the first one; its epoch schedule is
    kept, where it tells one. Raises WrongChain, and NodeError when it cannot be asked.
    """
    genesis_hash = node.genesis_hash()
    filters.apply_defaults(genesis_hash)
    stored = ArchiveState.objects.values_list("filters_set_for", flat=True).first()
    if stored and stored != genesis_hash:
        raise WrongChain(node.name, genesis_hash, stored)
    # Pages are divided by it, and nothing else: a proxy that does not know the method may be used.
    with contextlib.suppress(NodeError):
        epochs.keep(node.epoch_schedule())


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
