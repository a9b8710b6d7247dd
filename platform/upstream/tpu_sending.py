"""A transaction that is being sent to a leader, and its outcome."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.stream import QuicStreamSender

from upstream.tpu_errors import TpuError


class Opened(StrEnum):
    """What the connection was when a transaction was given to it."""

    WARM = "warm"  # open
    NEW = "new"  # it had to be opened
    RESUMED = "resumed"  # likewise, by a ticket of an earlier one: a shorter handshake
    EARLY = "early"  # likewise, and the transaction went with the first datagrams (0-RTT)


class Sent(NamedTuple):
    """The leader's QUIC stack has acknowledged the whole transaction; more is never answered."""

    latency_seconds: float  # from the call to the acknowledgement
    written_seconds: float  # from the call to the last datagram of it
    opened: Opened


# Called once, never before the call that it was given to has returned.
Done = Callable[[Sent | TpuError], None]


class Sending:
    """A transaction on its way; `done` is called with what becomes of it."""

    __slots__ = (
        "called_at",
        "done",
        "is_done",
        "opened",
        "sender",
        "stream_id",
        "timer",
        "wire",
        "written",
    )

    def __init__(self, wire: bytes, done: Done, called_at: float) -> None:
        self.wire = wire
        self.done = done
        self.is_done = False
        self.called_at = called_at
        self.opened = Opened.WARM
        self.stream_id = -1
        self.sender: QuicStreamSender | None = None
        self.written: float | None = None
        self.timer: asyncio.TimerHandle | None = None

    @property
    def is_written(self) -> bool:
        """Every byte has been in a datagram, lost or not."""
        return self.sender is not None and self.sender.highest_offset == len(self.wire)

    @property
    def has_unwritten_data(self) -> bool:
        """Some of it is to be written, for the first time or again."""
        return self.sender is not None and not self.sender.buffer_is_empty

    def finish(self, answer: Sent | TpuError) -> None:
        """Reports the answer, unless there was one before."""
        if self.is_done:
            return
        self.is_done = True
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.done(answer)

    def is_lost(self) -> None:
        """What was written of it is to be written again."""
        if self.sender is not None:
            end = self.sender.highest_offset
            self.sender.on_data_delivery(QuicDeliveryState.LOST, 0, end, self.is_written)

    def watch(
        self,
        sender: QuicStreamSender,
        acknowledged: Callable[["Sending"], None],
        lost: Callable[[], None],
    ) -> None:
        """Calls back when the peer has acknowledged all of it, and when some of it is to be written
        again: aioquic reports that only to its streams.
        """
        self.sender = sender
        deliver = sender.on_data_delivery

        def delivered(delivery: QuicDeliveryState, start: int, stop: int, fin: bool) -> None:
            deliver(delivery, start, stop, fin)
            if sender.is_finished:
                # It refers to the sender, which refers to it.
                del sender.on_data_delivery
                acknowledged(self)
            elif delivery is QuicDeliveryState.LOST:
                lost()

        sender.on_data_delivery = delivered  # type: ignore[method-assign]
