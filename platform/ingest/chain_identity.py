"""Which chain is stored: one database holds one chain."""

import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from functools import cache

from django.db import transaction
from django.utils import timezone

from chain.units import Slot
from historical.blocks.services.blocks import blockhashes
from ingest.errors import AnotherBlock, OtherChain, OtherLocalnet, WrongChain, other_genesis
from ingest.sources import own_localnet
from ingest.store import chains
from localnet.genesis_file import genesis_hash_in
from rewind.coverage.services import epochs
from rewind.recording.services import filters
from upstream.archives.errors import Unreadable
from upstream.geyser.messages import ClosedSlot, slot_record
from upstream.node import Node, NodeError, NodeUnreachable

_NODE_EVERY_SECONDS = 1.0
# A node that returned no block in so many tries does not serve blocks.
_NODE_TRIES = 10


def known() -> str:
    """The genesis hash of the stored chain; empty while it is unknown."""
    return chains.genesis_hash()


@transaction.atomic
def claim(genesis_hash: str, *, source: str, now: datetime) -> None:
    """Records that the database holds this chain; the first claim decides. Raises OtherChain.
    Call it in the transaction that stores: a refused import then claims nothing.
    """
    stored = known() or chains.claim(genesis_hash, source=source, now=now)
    if stored != genesis_hash:
        raise other_genesis(genesis_hash, stored)


def check(node: Node) -> None:
    """Checks that the node is of the stored chain, claims it if none is stored, and keeps the
    node's epoch schedule. Raises WrongChain, and NodeError if the node does not respond.
    """
    genesis_hash = node.genesis_hash()
    _require_own(node, genesis_hash)
    stored = known()
    if not stored:
        with contextlib.suppress(OtherChain):  # another process was first: raised below
            claim(genesis_hash, source=node.name, now=timezone.now())
        stored = known()
    if stored != genesis_hash:
        raise WrongChain(node.name, genesis_hash, stored)
    filters.apply_defaults(genesis_hash)
    # Only pages use the schedule, so a proxy that does not know the method is fine.
    with contextlib.suppress(NodeError):
        epochs.keep(node.epoch_schedule())


def _require_own(node: Node, genesis_hash: str) -> None:
    """Where localnet is followed, it is the one of this run directory: another installation on this
    machine may have its ports. Raises OtherLocalnet, and NodeError before localnet has begun.
    """
    folder = own_localnet(node)
    if folder is None:
        return
    own = genesis_hash_in(folder)
    if own is None:
        raise NodeUnreachable("localnet has not begun yet")
    if own != genesis_hash:
        raise OtherLocalnet(node.name, genesis_hash, own)


def require_same(node: Node) -> None:
    """The same for a node that only serves blocks: it claims nothing."""
    stored = known()
    if stored and _genesis_of(node) != stored:
        raise WrongChain(node.name, _genesis_of(node), stored)


@cache
def _genesis_of(node: Node) -> str:
    return node.genesis_hash()


class SameChain:
    """Proves that streams are of one chain, by a block that another stream, the ledger or the node
    has too. `passed_on` returns the blockhash of a slot that another stream delivered; `is_first`
    is true where there is nothing to compare a stream with. For any thread.
    """

    def __init__(
        self,
        node: Node | None,
        passed_on: Callable[[int], str | None],
        is_first: Callable[[int], bool],
    ) -> None:
        self._node = node
        self._passed_on = passed_on
        self._is_first = is_first
        self._asked_at = 0.0
        self._tries = 0

    def is_proved_by(self, stream: int, closed: ClosedSlot) -> bool:
        """True if the stream's finalized block is proved to be of the followed chain, or is its
        first. Raises AnotherBlock if it is of another one.
        """
        for slot, blockhash in _blockhashes(closed):
            expected = self._passed_on(slot) or blockhashes(slot, slot).get(slot)
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
            return self._node.header(slot).blockhash
        except NodeError:
            self._tries += 1
            return None


def _blockhashes(closed: ClosedSlot) -> list[tuple[int, str]]:
    """(slot, blockhash) of the block and its parent; the parent is stored after a restart. Block 0
    names itself as its parent, with a blockhash of zeros.
    """
    if closed.parent_slot == closed.slot:
        return [(closed.slot, closed.blockhash)]
    try:
        parent = slot_record(closed).previous_blockhash
    except Unreadable:
        return [(closed.slot, closed.blockhash)]
    return [(closed.slot, closed.blockhash), (closed.parent_slot, parent)]
