"""How much of a delegation counts in an epoch, to the lamport as the cluster has it.

Follows `Delegation::stake_activating_and_deactivating` of the crate solana-stake-interface: with
floats, and since SIMD-0391 with integers. Python's floats are those of Rust's f64.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from chain.units import U64_MAX

_DELEGATED = 2
# The tag and the authorities of a stake's state; behind them the delegation.
_DELEGATION = struct.Struct("<32sQQQ")
_AT = 124
# Credits and flags come behind it: what is shorter is not such a state.
_LEAST_SIZE = 197
_ENTRY = struct.Struct("<QQQQ")

# What part of the effective stake may begin or cease to count in an epoch, in basis points.
_FIRST_RATE, _NEW_RATE, _WHOLE = 2_500, 900, 10_000
_U128_MAX = 2**128 - 1


class Delegation(NamedTuple):
    """A stake account's. Activated in epoch U64_MAX: at genesis, and effective from then on."""

    voter: bytes
    stake: int
    activation_epoch: int
    deactivation_epoch: int


class Activation(NamedTuple):
    """Lamports that count in an epoch, that do not yet, and of those that do, those that cease."""

    effective: int = 0
    activating: int = 0
    deactivating: int = 0


# By epoch: what the StakeHistory sysvar has.
History = Mapping[int, Activation]


class Rules(NamedTuple):
    """The epoch from which the lower rate holds, and whether amounts are computed with integers."""

    new_rate_epoch: int | None = None
    with_integers: bool = True


def read_delegation(data: bytes) -> Delegation | None:
    """Of a stake account's data; None where nothing is delegated."""
    if len(data) < _LEAST_SIZE or int.from_bytes(data[:4], "little") != _DELEGATED:
        return None
    return Delegation(*_DELEGATION.unpack_from(data, _AT))


def read_history(data: bytes) -> dict[int, Activation]:
    """The StakeHistory sysvar by epoch, the newest first, down to an epoch that had no block: what
    is below it, versions of Agave find differently. Raises ValueError for what is none.
    """
    count = int.from_bytes(data[:8], "little")
    if len(data) < 8 + count * _ENTRY.size:
        raise ValueError("the stake history is shorter than it says")
    rows = list(_ENTRY.iter_unpack(data[8 : 8 + count * _ENTRY.size]))
    return {
        epoch: Activation(*amounts)
        for place, (epoch, *amounts) in enumerate(rows)
        if epoch == rows[0][0] - place
    }


def activation(delegation: Delegation, epoch: int, history: History, rules: Rules) -> Activation:
    """Of the delegation in the epoch; of the history only epochs below it matter."""
    effective, activating = _activated(delegation, epoch, history, rules)
    ceases = delegation.deactivation_epoch
    if epoch < ceases:
        return Activation(effective, activating)
    if epoch > ceases:
        effective = _left(effective, ceases, epoch, history, rules)
    return Activation(effective, 0, effective)


def _activated(
    delegation: Delegation, epoch: int, history: History, rules: Rules
) -> tuple[int, int]:
    """The effective and the activating lamports, as if nothing ceased."""
    _, stake, begins, ceases = delegation
    if begins == U64_MAX:
        return stake, 0
    if begins == ceases or epoch < begins:
        return 0, 0
    if epoch == begins:
        return 0, stake
    before = history.get(begins)
    if before is None:
        return stake, 0
    effective, at = 0, begins
    while before is not None and before.activating:
        at += 1
        effective += max(
            1, _share(stake - effective, before.activating, before.effective, at, rules)
        )
        if effective >= stake:
            effective = stake
            break
        if at >= epoch or at >= ceases:
            break
        before = history.get(at)
    return effective, stake - effective


def _left(effective: int, ceases: int, epoch: int, history: History, rules: Rules) -> int:
    """What is still effective in an epoch above the one in which it ceases."""
    before = history.get(ceases)
    if before is None:
        return 0
    at = ceases
    while before is not None and before.deactivating:
        at += 1
        gone = max(1, _share(effective, before.deactivating, before.effective, at, rules))
        effective = max(0, effective - gone)
        if not effective or at >= epoch:
            break
        before = history.get(at)
    return effective


def _share(portion: int, of_all: int, effective: int, epoch: int, rules: Rules) -> int:
    """The account's part of what may change in the epoch, by its part of what waits to change."""
    is_new = rules.new_rate_epoch is not None and epoch >= rules.new_rate_epoch
    rate = _NEW_RATE if is_new else _FIRST_RATE
    if not rules.with_integers:
        share = float(portion) / float(of_all) * (float(effective) * (rate / _WHOLE))
        return min(int(share), U64_MAX)
    if not portion or not effective:
        return 0
    return min(portion, min(portion * effective * rate, _U128_MAX) // (of_all * _WHOLE))
