"""Checks of the ranks of tiers."""

from collections.abc import Mapping
from itertools import pairwise

# The tiers with hosts of their own: a key opens the hosts of its rank and below.
_RISING = ("basic", "ultra", "elite", "epic")


def rank_problems(ranks: Mapping[str, int]) -> dict[str, str]:
    """Tier name → what is wrong with its rank; `ranks` has those of all tiers."""
    found = {}
    for name, rank in ranks.items():
        same = sorted(other for other in ranks if other != name and ranks[other] == rank)
        if same:
            found[name] = f"Rank {rank} is also that of {', '.join(same)}: each tier has its own"
    present = [name for name in _RISING if name in ranks]
    for below, above in pairwise(present):
        if ranks[below] > ranks[above]:
            text = f"{' < '.join(_RISING)} must hold: {below} has {ranks[below]}"
            found[above] = f"{text}, {above} has {ranks[above]}"
            found.setdefault(below, found[above])
    return found
