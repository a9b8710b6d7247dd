"""Sink: what a StreamReader gives what it reads to."""

from typing import Protocol

from chain.units import Slot
from ingest.follower_state import FollowerState
from upstream.geyser.events import HeadMoved, SlotClosed, SlotIncomplete
from upstream.geyser.updates import BlockMetaUpdate, SlotUpdate, TransactionUpdate


class Sink(Protocol):
    """What takes what the readers read (follower.Follower); for any thread. Slots of a stream come
    after it was told to be there.
    """

    state: FollowerState

    def there(self, number: int, is_there: bool) -> None:
        """The stream is connected and of the chain that is followed, or no more."""

    def closed(self, number: int, event: SlotClosed) -> None: ...

    def incomplete(self, number: int, event: SlotIncomplete) -> None: ...

    def lost(self, number: int, first: Slot, last: Slot) -> None:
        """The stream will not send the slots."""

    def moved(self, number: int, event: HeadMoved, decided: Slot | None, *, leads: bool) -> None:
        """The stream's head moved; nothing more comes of slots up to `decided`."""

    def hear(self, update: TransactionUpdate | BlockMetaUpdate | SlotUpdate) -> None:
        """Called for the leading stream alone, with each of its messages but account writes."""

    def check(self) -> None:
        """Raises what ended the handing over."""
