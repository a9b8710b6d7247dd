"""The stakes of epochs from the followed node, for those that no snapshot brought.

What a node shows as active stake in an epoch is what the cluster counts in the next one. For the
first epoch that is followed it is one epoch too new, and all there is.
"""

import logging
from typing import Any

from django.db import transaction

from chain.electorates import read_vote_accounts
from chain.slot_proof import MalformedProof
from ingest import chain_identity
from rewind.coverage.services import epochs
from rewind.proof.store import epoch_stakes
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.recording.store import slots as archive
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_FINAL = {"commitment": "finalized"}


def is_due() -> bool:
    """Whether the stakes of the newest slot's epoch, or of the one above, are not known."""
    epoch = _newest_epoch()
    return epoch is not None and bool(_unknown(epoch))


def learn(node: Node) -> None:
    """Keeps the stakes that the node has, if it is in the newest slot's epoch and stays there.
    Raises NodeError, and WrongChain where it is of another chain.
    """
    epoch = _newest_epoch()
    if epoch is None or not _unknown(epoch):
        return
    chain_identity.require_same(node)
    if _epoch_of(node) != epoch:
        return
    try:
        found = read_vote_accounts(node.call("getVoteAccounts", _FINAL))
    except MalformedProof as fault:
        raise NodeError(0, f"{node.name}: its vote accounts cannot be read: {fault}") from None
    stakes = {account: Stake(lamports, None) for account, lamports in found.items() if lamports}
    if not stakes or _epoch_of(node) != epoch:
        return
    with transaction.atomic():
        for each in _unknown(epoch):
            epoch_stakes.keep(StakeOrigin(), each, stakes)
            log.info("the stakes of epoch %d are those of %s", each, node.name)


def _epoch_of(node: Node) -> Any:
    info = node.call("getEpochInfo", _FINAL)
    return info.get("epoch") if isinstance(info, dict) else None


def _newest_epoch() -> int | None:
    bounds = archive.bounds()
    return None if bounds is None else epochs.epochs().schedule.epoch_of(bounds[1])


def _unknown(epoch: int) -> list[int]:
    known = epoch_stakes.known_among((epoch, epoch + 1))
    return [each for each in (epoch, epoch + 1) if each not in known]
