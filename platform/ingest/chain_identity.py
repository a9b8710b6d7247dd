"""Which chain is followed: two chains in one archive would be neither."""

import contextlib

from ingest.errors import WrongChain
from rewind.models import ArchiveState
from rewind.services import epochs, filters
from upstream.node import Node, NodeError


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
