"""Sink: the receiver of what a StreamReader reads."""

from typing import Protocol

from chain.units import Slot
from ingest.follower_state import FollowerState
from livefeed.feed import LiveFeed
from upstream.geyser.events import HeadMoved, SlotClosed, SlotIncomplete
from upstream.geyser.updates import BlockMetaUpdate, SlotUpdate, TransactionUpdate


class Sink(Protocol):
    """Receives what the readers read (follower.Follower); for any thread. Slots of a stream come
    after `set_connected` for it. `live` is added what it reads of every stream of the followed
    chain.
    """

    state: FollowerState
    live: LiveFeed

    def begin_new(self) -> None:
        """Nothing is archived yet."""

    def set_connected(self, number: int, is_connected: bool) -> None:
        """Whether the stream is connected and proved to be of the followed chain."""

    def closed(self, number: int, event: SlotClosed) -> None: ...

    def incomplete(self, number: int, event: SlotIncomplete) -> None: ...

    def lost(self, number: int, first: Slot, last: Slot) -> None:
        """The stream will not send the slots."""

    def moved(self, number: int, event: HeadMoved, decided: Slot | None, *, leads: bool) -> None:
        """The stream's head moved; the stream sends nothing more of slots up to `decided`."""

    def publish(self, update: TransactionUpdate | BlockMetaUpdate | SlotUpdate) -> None:
        """Called for the leading stream only, with each message except account writes."""

    def check(self) -> None:
        """Raises what ended the slot sender."""
