"""A job's stored request (JSON), and its simulations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Transactions (by their texts, or by signatures alone), each at each position; without
    positions each right before itself. `first`, `count` and `step` stand for positions that are
    ends of slots. The rest of a simulation's config is the same for all.
    """

    signatures: Sequence[str]
    texts: Sequence[str] | None
    encoding: str
    positions: Sequence[Json] | None
    first: int
    count: int
    step: int
    config: Json

    @property
    def positions_each(self) -> int:
        if self.positions is not None:
            return len(self.positions)
        return self.count or 1

    @property
    def total(self) -> int:
        return len(self.signatures) * self.positions_each

    def item(self, number: int) -> Item:
        """Transactions come one after the other, each with all of its positions."""
        index, place = divmod(number, self.positions_each)
        signature = self.signatures[index]
        if self.positions is not None:
            position = self.positions[place]
        elif self.count:
            position = {"slot": self.first + place * self.step}
        else:
            position = {"anchor": {"signature": signature, "position": "before"}}
        text = None if self.texts is None else self.texts[index]
        return Item(number, index, signature, text, position)

    def as_json(self) -> Json:
        """`read_request` reads it."""
        return {
            "signatures": list(self.signatures),
            "texts": None if self.texts is None else list(self.texts),
            "encoding": self.encoding,
            "positions": None if self.positions is None else list(self.positions),
            "range": [self.first, self.count, self.step],
            "config": self.config,
        }


def read_request(kept: Mapping[str, Any]) -> JobRequest:
    first, count, step = kept["range"]
    return JobRequest(
        signatures=kept["signatures"],
        texts=kept["texts"],
        encoding=kept["encoding"],
        positions=kept["positions"],
        first=first,
        count=count,
        step=step,
        config=kept["config"],
    )
