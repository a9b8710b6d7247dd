"""Queries on the stakes of epochs, as snapshots' manifests have them."""

from collections.abc import Mapping
from typing import NamedTuple

from solders.pubkey import Pubkey

from rewind.baseline_models import Baseline, EpochStake


class Stake(NamedTuple):
    """Lamports, and who may sign the vote account's votes in the epoch; None where that is not
    known.
    """

    lamports: int
    voter: bytes | None


def of_epoch(epoch: int) -> dict[bytes, Stake]:
    """By vote account, of all that have any; empty where no snapshot brought the epoch's."""
    found = EpochStake.objects.filter(epoch=epoch)
    return {
        bytes(row.vote_account): Stake(row.stake, None if row.voter is None else bytes(row.voter))
        for row in found
    }


def baseline_of(epoch: int) -> Baseline | None:
    """Whose manifest the epoch's stakes are of."""
    row = EpochStake.objects.filter(epoch=epoch).select_related("baseline").first()
    return None if row is None else row.baseline


def keep(baseline: Baseline, epoch: int, stakes: Mapping[bytes, Stake]) -> None:
    """They are the epoch's stakes, and no others."""
    EpochStake.objects.filter(epoch=epoch).delete()
    EpochStake.objects.bulk_create(
        EpochStake(
            epoch=epoch,
            vote_account=Pubkey(account),
            stake=stake.lamports,
            voter=None if stake.voter is None else Pubkey(stake.voter),
            baseline=baseline,
        )
        for account, stake in stakes.items()
    )
