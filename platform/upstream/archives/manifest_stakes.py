"""Stakes in a snapshot's manifest: of each epoch, what every vote account's votes weigh."""

from typing import NamedTuple

from upstream.archives.account_json import LARGEST_ACCOUNT
from upstream.archives.bincode import Bincode

_U64 = 8
_PUBKEY = 32
# voter, stake, activation epoch, deactivation epoch, warmup rate
_DELEGATION = _PUBKEY + 4 * _U64
_CREDITS_OBSERVED = _U64
# What an account takes beside its data: lamports, length, owner, executable, rent_epoch.
_ACCOUNT = 2 * _U64 + _PUBKEY + 1 + _U64
_VOTE_ACCOUNT = _PUBKEY + _U64 + _ACCOUNT
_STAKES = 5 * _U64
_NODE = _PUBKEY + 2 * _U64

LEAST_EPOCH_STAKES = _U64 + _STAKES + 3 * _U64
# Mainnet has some thousand.
_MOST_VOTE_ACCOUNTS = 1 << 18


class EpochStakes(NamedTuple):
    """What an epoch's votes weigh: lamports by vote account, of all that have any, their sum as the
    file has it, and who may sign each one's votes in that epoch.
    """

    epoch: int
    total: int
    stakes: dict[bytes, int]
    voters: dict[bytes, bytes]


def read_epoch_stakes(data: Bincode, *, versioned: bool) -> EpochStakes:
    """A member of either map of epoch stakes: the versioned one has the credits of each stake."""
    epoch = data.u64()
    if versioned and (variant := data.u32()):
        raise data.misfit(f"stakes of an unknown kind, {variant}")
    stakes = read_stakes(data, with_credits=versioned)
    total = data.u64()
    for _ in range(data.count(_NODE)):
        data.skip(_PUBKEY)
        data.skip_list(_PUBKEY)  # vote_accounts
        data.skip(_U64)  # total_stake
    voters = {}
    for _ in range(data.count(2 * _PUBKEY)):
        pubkey, voter = data.take(_PUBKEY), data.take(_PUBKEY)
        if pubkey in stakes:
            voters[pubkey] = voter
    return EpochStakes(epoch, total, stakes, voters)


def read_stakes(data: Bincode, *, with_credits: bool = False) -> dict[bytes, int]:
    """Lamports by vote account, of those that have any; the delegations are passed over."""
    found: dict[bytes, int] = {}
    for _ in range(data.count(_VOTE_ACCOUNT)):
        pubkey, stake = data.take(_PUBKEY), data.u64()
        data.skip(_U64)  # lamports
        length = data.count(1)
        if length > LARGEST_ACCOUNT:
            raise data.misfit(f"a vote account of {length} bytes")
        data.skip(length + _PUBKEY)  # data, owner
        data.flag()  # executable
        data.skip(_U64)  # rent_epoch
        if stake:
            found[pubkey] = stake
        if len(found) > _MOST_VOTE_ACCOUNTS:
            raise data.misfit(f"more than {_MOST_VOTE_ACCOUNTS} vote accounts")
    data.skip_list(_PUBKEY + _DELEGATION + (_CREDITS_OBSERVED if with_credits else 0))
    data.skip(2 * _U64)  # unused, epoch
    data.skip_list(4 * _U64)  # stake_history: epoch, effective, activating, deactivating
    return found
