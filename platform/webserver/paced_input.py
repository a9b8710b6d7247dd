"""Bounds the processor time that one client's bytes may take on an event loop.

A frame of six bytes costs a parser as much as one of a kilobyte, and a protocol has many kinds of
frames that cost their sender nothing. So what is charged is the time that they take, whatever they
are: bytes are passed on in slices of a few milliseconds, and a client that has used up its share
is read later. TCP then slows it down; no other client waits for more than one slice.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

# Seconds of the loop a second, and at once.
SHARE = 0.2
_AT_ONCE = 0.5
# A slice that takes longer than the first is halved, one that takes less than the second doubled.
_LONG, _SHORT = 0.002, 0.000_4
_LEAST, _MOST = 256, 65_536
# Shares that were not used for so long are full again.
_FULL_SECONDS = _AT_ONCE / SHARE
_MOST_HOLDERS = 4_096


class Share:
    """What one holder may use: so much a second (`rate`), and so much at once. By default processor
    time, of a connection or of all connections of one address.
    """

    __slots__ = ("_at_once", "_left", "_paid_at", "_rate")

    def __init__(self, now: float, *, rate: float = SHARE, at_once: float = _AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._paid_at = now
        self._rate = rate

    def charge(self, amount: float, now: float) -> float:
        """Takes so much. Returns how many seconds to wait until something is left, or 0."""
        earned = (now - self._paid_at) * self._rate
        self._left = min(self._at_once, self._left + earned) - amount
        self._paid_at = now
        return max(0.0, -self._left / self._rate)

    def is_full(self, now: float) -> bool:
        return now - self._paid_at > _FULL_SECONDS


class Shares:
    """The shares of a process, by holder. Used on one loop."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}

    def __len__(self) -> int:
        return len(self._shares)

    def of(self, holder: str, now: float) -> Share:
        """The share of an address group (`webserver.address_groups.holder_of`)."""
        share = self._shares.get(holder)
        if share is None:
            if len(self._shares) >= _MOST_HOLDERS:
                for name in [name for name, each in self._shares.items() if each.is_full(now)]:
                    del self._shares[name]
            share = self._shares[holder] = Share(now)
        return share


class Pausable(Protocol):
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class PacedInput:
    """Passes a connection's bytes on in slices, and pauses its reading meanwhile.

    `read` takes a slice; `is_over` says that no more bytes are wanted. `hold` and `release` pause
    and resume for another reason, such as output that the client does not read.
    """

    __slots__ = (
        *("_data", "_is_over", "_is_paused", "_read", "_reasons", "_share", "_size"),
        *("_timer", "_transport"),
    )

    def __init__(
        self,
        transport: Pausable,
        share: Share,
        *,
        read: Callable[[bytes], None],
        is_over: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._share = share
        self._read = read
        self._is_over = is_over
        self._data = b""
        self._size = 1_024
        self._reasons = 0
        self._is_paused = False
        self._timer: asyncio.Handle | None = None

    def received(self, data: bytes) -> None:
        """Bytes from the client, in order."""
        self._data = self._data + data if self._data else data
        if self._timer is None and not self._reasons:
            self._go_on()

    def hold(self) -> None:
        """Passes nothing on until as many calls of `release`."""
        self._reasons += 1
        self._pause()

    def release(self) -> None:
        self._reasons -= 1
        if not self._reasons and self._timer is None:
            self._go_on()

    def stop(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._data = b""

    def _go_on(self) -> None:
        """Passes one slice on, and arranges for the next one."""
        self._timer = None
        if self._reasons:
            return
        if self._is_over():
            self._data = b""
        elif self._data:
            slice_, self._data = self._data[: self._size], self._data[self._size :]
            before = time.thread_time()
            self._read(slice_)
            took = time.thread_time() - before
            self._resize(len(slice_), took)
            waits = self._share.charge(took, time.monotonic())
            if waits or self._data:
                self._pause()
                loop = asyncio.get_running_loop()
                if waits:
                    self._timer = loop.call_later(waits, self._go_on)
                else:
                    self._timer = loop.call_soon(self._go_on)
                return
        if not self._reasons:
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
