"""What an epoch's votes weigh, and who may sign them, from the vote accounts and delegations.

Follows `parse_epoch_vote_accounts` and `clone_and_filter_for_vat` of Agave's crates solana-runtime
and solana-vote.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from chain.encodings import b58decode
from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.raw import RawAccount
from chain.parsed_accounts.vote import parse_vote_account

# By version: how long such an account is, and how many bytes behind the version are zero while it
# is not initialized.
_V1_14_11, _V3, _V4 = 1, 2, 3
_SIZES = {_V1_14_11: 3_731, _V3: 3_762, _V4: 3_762}
_BLANK = {_V1_14_11: 82, _V3: 114}
VOTE_SIZE = _SIZES[_V4]
# With the admission of SIMD-0357.
_MOST_VOTE_ACCOUNTS = 2_000
_NO_PUBKEY = bytes(32)
_RENT = struct.Struct("<Qd")
_STORAGE_OVERHEAD = 128


class VoteAccount(NamedTuple):
    """Who may sign its votes from which epoch on, ascending; whether it has a BLS key; what of its
    lamports its delegators have earned.
    """

    lamports: int
    voters: tuple[tuple[int, bytes], ...]
    has_bls: bool
    pending: int

    def voter_in(self, epoch: int) -> bytes | None:
        """Who may sign its votes in the epoch."""
        return next((voter for first, voter in reversed(self.voters) if first <= epoch), None)


class Admission(NamedTuple):
    """What a vote account needs for its votes to count: a BLS key, and this balance, without what
    its delegators have earned where `without_pending`.
    """

    balance: int
    without_pending: bool


def read_vote_account(lamports: int, data: bytes) -> VoteAccount | None:
    """None where the cluster takes the account of the vote program for none."""
    version = int.from_bytes(data[:4], "little")
    blank = _BLANK.get(version, 0)
    if len(data) != _SIZES.get(version) or (blank and not any(data[4 : 4 + blank])):
        return None
    try:
        info = parse_vote_account(RawAccount(str(_NO_PUBKEY), data, lambda _: None))["info"]
    except UnreadableError:
        return None
    return VoteAccount(
        lamports,
        tuple(
            (each["epoch"], b58decode(each["authorizedVoter"])) for each in info["authorizedVoters"]
        ),
        info["blsPubkeyCompressed"] is not None,
        int(info["pendingDelegatorRewards"]),
    )


def counted(
    delegated: Mapping[bytes, int],
    accounts: Mapping[bytes, VoteAccount],
    admission: Admission | None,
) -> dict[bytes, int]:
    """Of the lamports that are delegated to pubkeys those that count: to vote accounts, and with an
    admission only to the largest that fulfil it.
    """
    found = {key: delegated[key] for key in accounts if delegated.get(key)}
    if admission is None:
        return found
    admitted = {
        key: stake for key, stake in found.items() if _is_admitted(accounts[key], admission)
    }
    if len(admitted) > _MOST_VOTE_ACCOUNTS:
        floor = sorted(admitted.values(), reverse=True)[_MOST_VOTE_ACCOUNTS]
        admitted = {key: stake for key, stake in admitted.items() if stake > floor}
    # A cluster that admits no one has no leaders: one that goes on, as localnet, has not the rule.
    return admitted or found


def rent_exempt_by(sysvar: bytes, size: int) -> int:
    """The least lamports of an account with so many bytes of data, by the Rent sysvar."""
    per_byte, threshold = _RENT.unpack_from(sysvar)
    return int(float((_STORAGE_OVERHEAD + size) * per_byte) * threshold)


def _is_admitted(account: VoteAccount, admission: Admission) -> bool:
    pending = account.pending if admission.without_pending else 0
    return account.has_bls and max(0, account.lamports - pending) >= admission.balance
