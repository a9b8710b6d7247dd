"""Bounds the processor time that one client's bytes may take on an event loop.

A frame of six bytes costs a parser as much as one of a kilobyte, and a protocol has many kinds of
frames that cost their sender nothing. So what is charged is the time that they take, whatever they
are: bytes are passed on in slices of a few milliseconds, and a client that has used up its share
is read later. TCP then slows it down; no other client waits for more than one slice.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, Self

# Seconds of the loop a second, and at once.
SHARE = 0.2
_AT_ONCE = 0.02
# A slice that takes longer than the first is halved, one that takes less than the second doubled.
_LONG, _SHORT = 0.001, 0.000_2
_FIRST = 1_024
# What a new connection costs, and a byte that is received.
_OPENING_SECONDS = 0.000_2
_BYTE_SECONDS = 2e-9
# Of protocols with frames of a few bytes.
FIRST_FRAMES = 256
_LEAST, _MOST = 256, 65_536
_MOST_HOLDERS = 4_096
_UNBOUNDED = 1e9


class Share:
    """What one holder may use: so much a second (`rate`), and so much at once. By default processor
    time, of a connection or of all connections of one address.
    """

    __slots__ = ("_at_once", "_left", "_paid_at", "_rate")

    def __init__(self, now: float, *, rate: float = SHARE, at_once: float = _AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._paid_at = now
        self._rate = rate

    @classmethod
    def unbounded(cls, now: float) -> Self:
        """For who is not bounded."""
        return cls(now, rate=_UNBOUNDED)

    def charge(self, amount: float, now: float) -> float:
        """Takes so much. Returns how many seconds to wait until something is left, or 0."""
        earned = (now - self._paid_at) * self._rate
        self._left = min(self._at_once, self._left + earned) - amount
        self._paid_at = now
        return max(0.0, -self._left / self._rate)

    def is_full(self, now: float) -> bool:
        return now - self._paid_at > self._at_once / self._rate


class Shares:
    """The shares of a process, by holder, each with this rate. Used on one loop."""

    def __init__(self, *, rate: float = SHARE, at_once: float = _AT_ONCE) -> None:
        self._shares: dict[str, Share] = {}
        self._rate = rate
        self._at_once = at_once

    def __len__(self) -> int:
        return len(self._shares)

    def of(self, holder: str, now: float) -> Share:
        """The share of an address group (`webserver.address_groups.holder_of`)."""
        share = self._shares.get(holder)
        if share is None:
            if len(self._shares) >= _MOST_HOLDERS:
                for name in [name for name, each in self._shares.items() if each.is_full(now)]:
                    del self._shares[name]
            share = self._shares[holder] = self.new(now)
        return share

    def new(self, now: float) -> Share:
        """A share of its own."""
        return Share(now, rate=self._rate, at_once=self._at_once)


class Pausable(Protocol):
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class PacedInput:
    """Passes a connection's bytes on in slices, and pauses its reading meanwhile.

    `read` takes a slice, which is charged; what `then` does behind each is not. `is_over` says that
    no more bytes are wanted. `hold` and `release` pause and resume for a reason of its user's, such
    as output that the client does not read.
    """

    __slots__ = (
        "_at",
        "_data",
        "_is_held",
        "_is_new",
        "_is_over",
        "_is_paused",
        "_read",
        "_reasons",
        "_share",
        "_size",
        "_then",
        "_timer",
        "_transport",
    )

    def __init__(
        self,
        transport: Pausable,
        share: Share,
        *,
        read: Callable[[bytes], None],
        is_over: Callable[[], bool],
        then: Callable[[], None] | None = None,
        size: int = _FIRST,
    ) -> None:
        self._transport = transport
        self._share = share
        self._read = read
        self._is_over = is_over
        self._then = then
        # The received bytes, and how many of them were passed on.
        self._data = b""
        self._at = 0
        self._size = size
        self._is_new = True
        self._reasons = 0
        self._is_held = False
        self._is_paused = False
        self._timer: asyncio.Handle | None = None

    def received(self, data: bytes) -> None:
        """Bytes from the client, in order."""
        if self._is_new:  # not before: a transport that is new cannot be paused yet
            self._is_new = False
            self.charge(_OPENING_SECONDS)
        self._data = self._rest() + data if self._data else data
        if self._timer is None and not self._reasons:
            self._go_on()

    @property
    def is_idle(self) -> bool:
        """Whether bytes that come now would be passed on at once."""
        return self._timer is None and not self._reasons and not self._data

    def put_back(self, data: bytes) -> None:
        """What `read` was given and did not want yet: it comes first again."""
        self._data = data + self._rest()

    def _rest(self) -> bytes:
        """What was not passed on; it is forgotten here."""
        rest = self._data[self._at :] if self._at else self._data
        self._data, self._at = b"", 0
        return rest

    def hold(self) -> None:
        """Passes nothing on until `release`; further calls do nothing."""
        if not self._is_held:
            self._is_held = True
            self._begin_reason()

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._end_reason()

    def wait(self, seconds: float) -> None:
        """Passes nothing on for so long, beside whatever else it waits for."""
        self._begin_reason()
        asyncio.get_running_loop().call_later(seconds, self._end_reason)

    def charge(self, seconds: float) -> None:
        """Charges something else than reading: nothing is read until that is paid."""
        waits = self._share.charge(seconds, time.monotonic())
        if waits:
            self.wait(waits)

    def stop(self) -> bytes:
        """Passes nothing on any more, and leaves the transport as it is. Returns what was not
        passed on.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._reasons += 1
        self._is_paused = True
        return self._rest()

    def _begin_reason(self) -> None:
        self._reasons += 1
        self._pause()

    def _end_reason(self) -> None:
        self._reasons -= 1
        if not self._reasons and self._timer is None:
            self._go_on()

    def _go_on(self) -> None:
        """Passes one slice on, and arranges for the next one."""
        self._timer = None
        if self._reasons:
            return
        if self._is_over():
            self._rest()
        elif self._data:
            slice_ = self._data[self._at : self._at + self._size]
            self._at += len(slice_)
            if self._at == len(self._data):
                self._rest()
            before = time.thread_time()
            self._read(slice_)
            took = time.thread_time() - before
            self._resize(len(slice_), took)
            cost = took + len(slice_) * _BYTE_SECONDS
            waits = self._share.charge(cost, time.monotonic())
            if waits or self._data:
                self._pause()
                loop = asyncio.get_running_loop()
                if waits:
                    self._timer = loop.call_later(waits, self._go_on)
                else:
                    self._timer = loop.call_soon(self._go_on)
            if self._then is not None:
                self._then()
        if not self._reasons and self._timer is None:
            self._resume()

    def _resize(self, length: int, took: float) -> None:
        if took > _LONG:
            self._size = max(_LEAST, self._size // 2)
        elif took < _SHORT and length == self._size:
            self._size = min(_MOST, self._size * 2)

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
