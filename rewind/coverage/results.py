"""Results of getRewindCoverage."""

from typing import Literal, cast

from solders.pubkey import Pubkey

from gaps.coverage import GapEntry
from jsonrpc.wire import Result
from rewind.baselines.results import BaselineEntry
from rewind.proof.results import ProofRange


class StorageBand(Result, frozen=True, kw_only=True):
    """A run of slots that are stored in one way. Reads are the same.

    band: `hot`, as it was written, `sealed`, packed, or `cold`, packed in the object store
    from_slot: the first of them
    to_slot: the last of them
    """

    band: Literal["hot", "sealed", "cold"]
    from_slot: int
    to_slot: int

    @classmethod
    def of(cls, first: int, last: int, band: str) -> "StorageBand":
        return cls(band=cast(Literal["hot", "sealed", "cold"], band), from_slot=first, to_slot=last)


class Coverage(Result, frozen=True, kw_only=True):
    """What the archive holds of a window of slots.

    earliest_slot: the archive's lowest slot; null while nothing is archived
    latest_slot: the archive's highest slot; null while nothing is archived
    slot_range: how many slots the window has; null while nothing is archived
    missing_slot_count: how many of them are not archived, and are not known to be skipped
    cannot_be_had_slot_count: how many of the missing ones were given up because no source
        has them any more
    skipped_slot_count: how many of them are known to hold no block
    whole_slot_count: how many of them are archived with every write
    last_writes_only_slot_count: how many of them are archived with each account's last write, but
        perhaps not every write
    gap_percent: the share of missing ones among those that are not skipped, in per cent; null if
        there are none of either
    gaps: the runs of missing slots, lowest first; null unless requested
    truncated: whether there are more gaps than were listed
    storage: how the window's slots are stored, lowest first
    proven_through: the highest slot of the window that is proven: more than two thirds of the stake
        signed what the archive has, by stakes and voters that the operator gave, or that follow
        from it; null without such a slot
    consistent_through: the highest slot of the window that is proven or consistent: if it is only
        consistent, no one vouches for its stakes or voters; null without such a slot
    proof: runs of the window's slots by state, lowest first, at most 1,000; slots that are in none
        are not computed yet
    baselines: the snapshots of the window's slots, newest first, at most 100
    filtered_owners: programs whose accounts the archive deliberately does not follow
    filtered_pubkeys: accounts that the archive deliberately does not follow
    note: what the counts mean, in a sentence
    """

    earliest_slot: int | None
    latest_slot: int | None
    slot_range: int | None
    missing_slot_count: int
    cannot_be_had_slot_count: int
    skipped_slot_count: int
    whole_slot_count: int
    last_writes_only_slot_count: int
    gap_percent: float | None
    gaps: list[GapEntry] | None
    truncated: bool
    storage: list[StorageBand]
    proven_through: int | None
    consistent_through: int | None
    proof: list[ProofRange]
    baselines: list[BaselineEntry]
    filtered_owners: list[Pubkey]
    filtered_pubkeys: list[Pubkey]
    note: str
