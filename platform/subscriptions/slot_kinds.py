"""Subscriptions to slots: to those that begin, that become final, and to their lives."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from livefeed.messages import Kind, Level, Moved, Opened, Want
from subscriptions.content import Content
from subscriptions.kinds import Load, Result, Subscription, encode

_MOVES = ("firstShredReceived", "completed", "dead")
# Parts above those of the levels.
_FIRST_MOVE = 10


@dataclass(eq=False, slots=True, kw_only=True)
class SlotSubscription(Subscription):
    """Slots whose bank is created. With a memory, slots that are processed: what the feed said of
    slots before can be had again of these alone.
    """

    name: ClassVar[str] = "slot"
    is_of_slots: ClassVar[bool] = True

    def wants(self) -> list[Want]:
        return [Want(Kind.SLOTS) if self.memory is None else Want(Kind.HEADER)]

    def results(self, content: Content, load: Load) -> Iterable[Result]:
        if self.memory is None or content.parent is None:
            return []
        root = min(max(self.memory.position, 0), content.slot)
        return [(self.reached(content.slot, content.parent, root), None)]

    def opened(self, message: Opened) -> bytes:
        return self.reached(message.slot, message.parent, message.root)

    @staticmethod
    def reached(slot: int, parent: int, root: int) -> bytes:
        return encode({"parent": parent, "root": root, "slot": slot})


@dataclass(eq=False, slots=True, kw_only=True)
class RootSubscription(Subscription):
    name: ClassVar[str] = "root"
    is_of_slots: ClassVar[bool] = True

    def wants(self) -> list[Want]:
        return [Want(Kind.ROOTS)]


@dataclass(eq=False, slots=True, kw_only=True)
class SlotsUpdatesSubscription(Subscription):
    """With a memory, the updates that are known of a slot afterwards come from its levels."""

    name: ClassVar[str] = "slotsUpdates"
    is_of_slots: ClassVar[bool] = True

    def wants(self) -> list[Want]:
        wants = [Want(Kind.UPDATES)]
        if self.memory is not None:
            wants += [Want(Kind.HEADER, level) for level in Level]
        return wants

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        if self.memory is not None:
            at = content.at if content.level is Level.PROCESSED and content.at else time.time()
            for text in _at_level(content, content.level, int(at * 1_000)):
                yield text, None

    def part_of(self, content: Content) -> int:
        return int(content.level)

    def life_of(self, content: Content) -> list[bytes]:
        """All that is known afterwards of a slot; with its block's time."""
        at = int(content.at * 1_000)
        return [text for level in Level for text in _at_level(content, level, at)]

    def part_of_move(self, message: Moved) -> int | None:
        """Of a subscription with a memory; None for what comes from the slot's levels."""
        name = message.update
        return _FIRST_MOVE + _MOVES.index(name) if name in _MOVES else None

    def moved(self, message: Moved) -> bytes:
        found: dict[str, Any] = {"slot": message.slot, "timestamp": message.at}
        if message.update == "createdBank" and message.parent is not None:
            found["parent"] = message.parent
        if message.update == "dead":
            found["err"] = message.error
        if message.stats is not None:
            found["stats"] = _stats(*message.stats)
        return encode({**found, "type": message.update})


def _at_level(content: Content, level: Level, at: int) -> Iterator[bytes]:
    """What the slot went through when it reached the level."""
    said: dict[str, Any] = {"slot": content.slot, "timestamp": at}
    match level:
        case Level.PROCESSED:
            yield encode({**said, "parent": content.parent, "type": "createdBank"})
            failed = content.failed_count
            counts = content.entry_count, content.transaction_count, failed, 0
            yield encode({**said, "stats": _stats(*counts), "type": "frozen"})
        case Level.CONFIRMED:
            yield encode({**said, "type": "optimisticConfirmation"})
        case Level.FINALIZED:
            yield encode({**said, "type": "root"})


def _stats(entries: int, transactions: int, failed: int, most: int) -> dict[str, int]:
    return {
        "numTransactionEntries": entries,
        # A node calls all of them so, failed ones too.
        "numSuccessfulTransactions": transactions,
        "numFailedTransactions": failed,
        "maxTransactionsPerEntry": most,
    }
