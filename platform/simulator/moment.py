"""Moment: when a transaction runs."""

from collections.abc import Container
from dataclasses import dataclass

from solders.hash import Hash
from solders.litesvm import FeatureSet

from chain.units import Slot


@dataclass(frozen=True, slots=True)
class Moment:
    """The slot that a transaction runs in, and what the chain says of it.

    `previous_blockhash` is that of the slot's parent: what a durable nonce advances to.
    `blockhashes` are those that count as recent; None: the transaction's is not checked.
    `features` None: every feature that mainnet has.
    """

    slot: Slot
    previous_blockhash: Hash
    blockhashes: Container[Hash] | None = None
    features: FeatureSet | None = None
