"""Which chain is followed: two chains in one archive would be neither."""

from ingest.errors import WrongChain
from rewind.models import ArchiveState
from rewind.services import filters
from upstream.node import Node


def check(node: Node) -> None:
    """The node is of the chain that was followed before, or the first one. Raises WrongChain, and
    NodeError when it cannot be asked.
    """
    genesis_hash = node.genesis_hash()
    filters.apply_defaults(genesis_hash)
    stored = ArchiveState.objects.values_list("filters_set_for", flat=True).first()
    if stored and stored != genesis_hash:
        raise WrongChain(node.name, genesis_hash, stored)
