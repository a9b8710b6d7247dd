"""The runtime features that are active on the upstream node."""

import time
from collections.abc import Mapping
from typing import NamedTuple

from solders.account import Account
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from priority.simulation.node_accounts import read_accounts
from simulator.addresses import FEATURE
from simulator.features import feature_set_of, known_features, mainnet_features
from upstream.connection_pool import ConnectionPool

# Features come with epochs; the node may be given another chain.
_REMEMBERED_SECONDS = 300.0


class _Known(NamedTuple):
    epoch: int
    read_at: float
    features: FeatureSet | None


_known: dict[ConnectionPool, _Known] = {}


def features_of(
    node: ConnectionPool, *, epoch: int, seconds: int, commitment: Commitment
) -> FeatureSet | None:
    """The features that are on in the epoch; None for mainnet's, which a node that reports
    none runs too. Raises what read_accounts raises.
    """
    known, now = _known.get(node), time.monotonic()
    if known is not None and known.epoch == epoch and now < known.read_at + _REMEMBERED_SECONDS:
        return known.features
    keys = sorted(known_features(), key=bytes)
    reading = read_accounts(keys, node=node, seconds=seconds, commitment=commitment)
    features = _features(reading.accounts)
    _known[node] = _Known(epoch, now, features)
    return features


def _features(accounts: Mapping[Pubkey, Account | None]) -> FeatureSet | None:
    active = {
        key: int.from_bytes(account.data[1:9], "little")
        for key, account in accounts.items()
        if account is not None and account.owner == FEATURE and account.data[:1] == b"\x01"
    }
    if not active or active.keys() == mainnet_features().active.keys():
        return None
    return feature_set_of(active)


def forget() -> None:
    """Drops the cache."""
    _known.clear()
