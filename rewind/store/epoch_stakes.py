"""Queries on the stakes of epochs, as snapshots' manifests or a node have them."""

from collections.abc import Collection, Mapping
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
    """By vote account, of all that have any; empty where the epoch's are not known."""
    found = EpochStake.objects.filter(epoch=epoch).values_list("vote_account", "stake", "voter")
    return {
        bytes(account): Stake(stake, None if voter is None else bytes(voter))
        for account, stake, voter in found
    }


def baseline_of(epoch: int) -> Baseline | None:
    """Whose manifest the epoch's stakes are of; None where they are not known, or are a node's."""
    row = EpochStake.objects.filter(epoch=epoch).select_related("baseline").first()
    return None if row is None else row.baseline


def known_among(epochs: Collection[int]) -> set[int]:
    """Those of the epochs whose stakes are known."""
    return {epoch for epoch in epochs if EpochStake.objects.filter(epoch=epoch).exists()}


def keep(baseline: Baseline | None, epoch: int, stakes: Mapping[bytes, Stake]) -> None:
    """They are the epoch's stakes, and no others; without a baseline a node gave them."""
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
