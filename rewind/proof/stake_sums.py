"""The sums of a count of stake accounts, which may be interrupted anywhere."""

import struct
from dataclasses import dataclass, field
from typing import Self

from chain.stake_activation import Activation, Delegation, History, Rules, activation

_HEAD = struct.Struct("<3Q")
_ROW = struct.Struct("<32sQ")


@dataclass(slots=True)
class StakeSums:
    """What the delegations come to in the epoch that ended, and by the pubkey that each names, the
    lamports that are effective in the one that begins.
    """

    ended: Activation = field(default_factory=Activation)
    delegated: dict[bytes, int] = field(default_factory=dict)

    def add(
        self, delegation: Delegation, epochs: tuple[int | None, int], history: History, rules: Rules
    ) -> None:
        """`epochs` are the one that ended, None at genesis, and the one that begins; the history
        has the first of them too.
        """
        ended, begins = epochs
        if ended is not None:
            each = activation(delegation, ended, history, rules)
            self.ended = Activation(*(a + b for a, b in zip(self.ended, each, strict=True)))
        lamports = activation(delegation, begins, history, rules).effective
        if lamports:
            voter = delegation.voter
            self.delegated[voter] = self.delegated.get(voter, 0) + lamports

    def packed(self) -> bytes:
        rows = (_ROW.pack(*each) for each in self.delegated.items())
        return _HEAD.pack(*self.ended) + b"".join(rows)

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """Of nothing: a count that begins."""
        if not data:
            return cls()
        rows = _ROW.iter_unpack(data[_HEAD.size :])
        return cls(Activation(*_HEAD.unpack_from(data)), dict(rows))
