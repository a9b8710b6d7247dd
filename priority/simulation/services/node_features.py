"""The runtime features that are active on the upstream node."""

import time
from collections.abc import Mapping
from typing import NamedTuple

from solders.account import Account
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from columns.kept import Remembered
from priority.simulation.services.node_accounts import read_accounts
from rewind.replay.services.features import missing_of, unheard_of
from simulator.features import feature_set_of, known_features, mainnet_features
from simulator.missing_rules import MissingRule, activated_at, features_to_ask_for
from upstream.http.client import Client

# Features come with epochs; the node may be given another chain.
_REMEMBERED_SECONDS = 300.0


class NodeFeatures(NamedTuple):
    """The features that are on; None for mainnet's, which a node that reports none runs too.
    `missing` are those that the engine does not have and that a transaction may notice.
    """

    features: FeatureSet | None
    missing: tuple[MissingRule, ...]


class _Known(NamedTuple):
    epoch: int
    read_at: float
    found: NodeFeatures


_known: Remembered[Client, _Known] = Remembered()


def features_of(node: Client, *, epoch: int, seconds: int, commitment: Commitment) -> NodeFeatures:
    """What is on in the epoch, of the features that the engine, Agave's newest or the archive
    names. Raises what read_accounts raises.
    """
    known, now = _known.get(node), time.monotonic()
    if known is not None and known.epoch == epoch and now < known.read_at + _REMEMBERED_SECONDS:
        return known.found
    keys = sorted({*features_to_ask_for(), *unheard_of()}, key=bytes)
    reading = read_accounts(keys, node=node, seconds=seconds, commitment=commitment)
    found = _found(reading.accounts)
    _known[node] = _Known(epoch, now, found)
    return found


def _found(accounts: Mapping[Pubkey, Account | None]) -> NodeFeatures:
    slots = ((key, activated_at(account)) for key, account in accounts.items())
    active = {key: slot for key, slot in slots if slot is not None}
    known = active.keys() & known_features()
    if not known or known == mainnet_features().active.keys():
        return NodeFeatures(None, missing_of(active))
    return NodeFeatures(feature_set_of(active), missing_of(active))
