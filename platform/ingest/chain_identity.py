"""Which chain is stored: two chains in one database would be neither."""

import contextlib
from datetime import datetime
from functools import cache

from django.db import transaction
from django.utils import timezone

from ingest.errors import OtherChain, WrongChain, other_genesis
from ingest.models import StoredChain
from rewind.models import ArchiveState
from rewind.services import epochs, filters
from upstream.node import Node, NodeError


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
