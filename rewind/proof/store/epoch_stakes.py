"""Queries on the stakes of epochs, from snapshots' manifests, the archive's accounts or a node."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from solders.pubkey import Pubkey

from rewind.baselines.models import Baseline, EpochStake


class Stake(NamedTuple):
    """Lamports, and who may sign the vote account's votes in the epoch; None where that is not
    known.
    """

    lamports: int
    voter: bytes | None


class StakeOrigin(NamedTuple):
    """Where an epoch's stakes come from: a snapshot's manifest, the archive's own accounts as they
    were at the end of a slot, or both, which agree; a node's word where it is neither.
    """

    baseline: Baseline | None = None
    computed_slot: int | None = None

    @property
    def is_node(self) -> bool:
        return self.baseline is None and self.computed_slot is None

    def __str__(self) -> str:
        if self.baseline is not None:
            return self.baseline.source
        if self.computed_slot is not None:
            return f"the archive's own accounts at the end of slot {self.computed_slot}"
        return "a node"


def of_epoch(epoch: int) -> dict[bytes, Stake]:
    """By vote account, of all that have any; empty where the epoch's are not known."""
    found = EpochStake.objects.filter(epoch=epoch).values_list("vote_account", "stake", "voter")
    return {
        bytes(account): Stake(stake, None if voter is None else bytes(voter))
        for account, stake, voter in found
    }


def origin_of(epoch: int) -> StakeOrigin | None:
    """None where the epoch's stakes are not known."""
    row = EpochStake.objects.filter(epoch=epoch).select_related("baseline").first()
    return None if row is None else StakeOrigin(row.baseline, row.computed_slot)


def known_among(epochs: Collection[int]) -> set[int]:
    """Those of the epochs whose stakes are known."""
    return {epoch for epoch in epochs if EpochStake.objects.filter(epoch=epoch).exists()}


def agree(one: Mapping[bytes, Stake], other: Mapping[bytes, Stake]) -> bool:
    """Whether both have the same lamports, and the same voters as far as both know them."""
    return one.keys() == other.keys() and all(
        each.lamports == other[account].lamports
        and (each.voter == other[account].voter or None in (each.voter, other[account].voter))
        for account, each in one.items()
    )


def keep(origin: StakeOrigin, epoch: int, stakes: Mapping[bytes, Stake]) -> None:
    """They are the epoch's stakes, and no others."""
    EpochStake.objects.filter(epoch=epoch).delete()
    EpochStake.objects.bulk_create(
        EpochStake(
            epoch=epoch,
            vote_account=Pubkey(account),
            stake=stake.lamports,
            voter=None if stake.voter is None else Pubkey(stake.voter),
            baseline=origin.baseline,
            computed_slot=origin.computed_slot,
        )
        for account, stake in stakes.items()
    )
