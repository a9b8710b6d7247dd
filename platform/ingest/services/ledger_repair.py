"""Records damaged sealed blocks of the ledger again, from nodes that still have them."""

import logging
from collections.abc import Callable
from datetime import datetime

from chain.blocks import SlotRecord
from chain.units import Slot
from historical.sealed.services import repairing
from historical.sealed.store import damage
from ingest import chain_identity
from ingest.errors import WrongChain
from ingest.sources import nodes
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# Of a run; the others follow in the next one.
_MOST = 20


def repair_from_nodes(*, now: Callable[[], datetime]) -> int:
    """How much of what is damaged was recorded again. Nodes are asked in their order."""
    repaired = 0
    for found in damage.DAMAGES.open().exclude(kind=damage.Kind.INDEX)[:_MOST]:
        for node in nodes():
            if repairing.record_again(found, _fetching(node), node.name, now=now()):
                log.warning("%s is recorded again from %s", found, node.name)
                repaired += 1
                break
    return repaired


def _fetching(node: Node) -> repairing.Fetch:
    def fetch(slot: int) -> SlotRecord | None:
        try:
            chain_identity.require_same(node)
            return node.block(Slot(slot))
        except (WrongChain, NodeError) as error:
            log.info("slot %d is not repaired from %s: %s", slot, node.name, error)
            return None

    return fetch
