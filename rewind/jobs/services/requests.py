"""A job's stored request (JSON), and its simulations."""

from dataclasses import dataclass
from typing import Any

import msgspec

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One simulation of a job. `transaction` is the index of its transaction; `text` the
    transaction as the caller wrote it, None where the ledger has it under its signature;
    `position` has the members that name one.
    """

    number: int
    transaction: int
    signature: str
    text: str | None
    position: Json


class SlotSteps(msgspec.Struct, frozen=True, array_like=True):
    """Positions at the ends of `count` slots, from `first` on every `step` slots."""

    first: int = 0
    count: int = 0
    step: int = 1


class JobRequest(msgspec.Struct, frozen=True):
    """Transactions (by their texts, or by signatures alone), each at each position of `positions`
    or `range`; without both each right before itself. The rest of a simulation's config is the
    same for all.
    """

    signatures: list[str]
    texts: list[str] | None
    encoding: str
    positions: list[Json] | None
    range: SlotSteps
    config: Json

    @property
    def positions_each(self) -> int:
        if self.positions is not None:
            return len(self.positions)
        return self.range.count or 1

    @property
    def total(self) -> int:
        return len(self.signatures) * self.positions_each

    def item(self, number: int) -> Item:
        """Transactions come one after the other, each with all of its positions."""
        index, place = divmod(number, self.positions_each)
        signature = self.signatures[index]
        if self.positions is not None:
            position = self.positions[place]
        elif self.range.count:
            position = {"slot": self.range.first + place * self.range.step}
        else:
            position = {"anchor": {"signature": signature, "position": "before"}}
        text = None if self.texts is None else self.texts[index]
        return Item(number, index, signature, text, position)


def read_request(kept: Json) -> JobRequest:
    """Raises msgspec.ValidationError."""
    return msgspec.convert(kept, JobRequest)
