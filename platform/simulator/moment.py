"""Moment: the slot and chain state that a transaction runs in."""

from collections.abc import Container
from dataclasses import dataclass

from solders.hash import Hash
from solders.litesvm import FeatureSet

from chain.units import Slot


@dataclass(frozen=True, slots=True)
class Moment:
    """The slot that a transaction runs in, and its chain state.

    `previous_blockhash` is the parent's blockhash, to which a durable nonce advances.
    `blockhashes` are the recent ones; None: the transaction's blockhash is not checked.
    `features` None: every feature of mainnet.
    """

    slot: Slot
    previous_blockhash: Hash
    blockhashes: Container[Hash] | None = None
    features: FeatureSet | None = None
