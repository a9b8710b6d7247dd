"""What a standard node of a version answers where versions differ: for the ledger, localnet and
subscriptions alike. Read from Agave's crates; docs/decisions/node-versions.md has every difference.
"""

import functools
import re
from dataclasses import dataclass

from chain.commitment import TransactionEncoding

_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """One version and its rules.

    `feature_set` is what getVersion and getClusterNodes name. `base58_ends_at`: the lowest
    `maxSupportedTransactionVersion` with which base58 is refused, before anything is looked up.
    `awaits_statuses`: getSignatureStatuses and getTransaction judge `minContextSlot`, and
    getSignatureStatuses has a commitment. `finds_leaders`: getLeaderSchedule has
    `keyByVoteAccount` and refuses an identity that leads no slot. `most_rewarded`: addresses of one
    getInflationReward; None: any number.
    """

    name: str
    feature_set: int
    base58_ends_at: int | None
    awaits_statuses: bool
    finds_leaders: bool
    most_rewarded: int | None


_KNOWN = {
    (4, 1, 2): NodeVersion("4.1.2", 2_541_247_545, None, False, False, None),
    (4, 2, 2): NodeVersion("4.2.2", 565_236_538, None, False, False, None),
    (4, 3, 0): NodeVersion("4.3.0", 3_383_571_666, 1, False, False, 32),
    (4, 4, 0): NodeVersion("4.4.0", 3_722_100_051, 1, True, True, 32),
}
# The newest stable version whose crates are published: localnet's, and the ledger's default.
NEWEST = _KNOWN[max(_KNOWN)]


@functools.lru_cache(maxsize=8)
def node_version(name: str) -> NodeVersion:
    """The rules of a version: those of the nearest known one below it, or of the oldest. A name
    without three numbers has the newest one's.
    """
    match = _NUMBERS.match(name)
    if match is None:
        return NEWEST
    numbers = tuple(map(int, match.groups()))
    return _KNOWN[max((each for each in _KNOWN if each <= numbers), default=min(_KNOWN))]


def refuses_base58(
    version: NodeVersion, encoding: TransactionEncoding | None, max_version: int | None
) -> bool:
    """Whether the node refuses to write transactions in the encoding for a caller that can read
    this version.
    """
    if encoding not in (TransactionEncoding.BASE58, TransactionEncoding.BINARY):
        return False
    ends_at = version.base58_ends_at
    return ends_at is not None and max_version is not None and max_version >= ends_at


BASE58_REFUSED = "base58 encoding is not supported with maxSupportedTransactionVersion >= 1"
