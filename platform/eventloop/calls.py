"""Synchronous code on an event loop: a call that would block is suspended, and the loop goes on.

Each call is a greenlet. Queries and commands that support this send their request and suspend the
call until the response arrives; anything else that would block raises WouldWait, and the call is
restarted in a thread. So calls served from memory never switch threads, and calls that wait for the
database are resumed by the loop and not by another thread.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

log = logging.getLogger(__name__)

T = TypeVar("T")
# Runs a job in a thread that may block.
Submit = Callable[[Callable[[], None]], None]

# Bytes that take a millisecond or more to encode.
_LARGE = 262_144
_MOST_IDLE = 64


class WouldWait(BaseException):
    """The call would block the event loop: it is restarted in a thread."""


class LoopCall(greenlet):
    """One call at a time on the event loop, started and resumed from the loop's greenlet. `done` is
    the work that must not be repeated if the call is restarted in a thread.
    """

    loop: asyncio.AbstractEventLoop
    submit: Submit
    done: object = None
    _function: Callable[[], None] | None = None
    _idle: "list[LoopCall]"

    def run(self) -> None:
        while self._function is not None:
            function, self._function = self._function, None
            function()
            self.done = None
            if len(self._idle) >= _MOST_IDLE:
                return
            self._idle.append(self)
            self.wait()

    def wait(self) -> Any:
        """Suspends the call until `resume`; returns its value or raises its error."""
        parent = self.parent
        assert parent is not None
        return parent.switch()

    def resume(self, value: Any, error: BaseException | None = None) -> None:
        """Resumes the call, from the loop's greenlet."""
        if self.dead:
            return
        if error is None:
            self.switch(value)
        else:
            self.throw(error)

    def in_thread(self, function: Callable[[], T], submit: Submit | None = None) -> T:
        """Runs the function in a thread, by `submit` or by the call's own, and suspends the call;
        returns or raises its outcome.
        """

        def job() -> None:
            value, failure = None, None
            try:
                value = function()
            except BaseException as error:  # raised in the call, not in the thread
                failure = error
            try:
                self.loop.call_soon_threadsafe(self.resume, value, failure)
            except RuntimeError:
                log.debug("a call's loop ended before its result arrived")

        (submit or self.submit)(job)
        return self.wait()  # type: ignore[no-any-return]


class LoopCalls:
    """The calls of one event loop; create it in the loop's greenlet. Greenlets are reused: a new
    one maps memory for its frames, which takes a tenth of a call's time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._hub = getcurrent()
        self._idle: list[LoopCall] = []

    def begin(self, function: Callable[[], None], submit: Submit) -> None:
        """Runs the function in a LoopCall until it ends or is suspended for the first time. Its
        `in_thread` work runs by `submit`.
        """
        if getcurrent() is not self._hub:
            self._loop.call_soon(self.begin, function, submit)
            return
        call = self._idle.pop() if self._idle else LoopCall(None, self._hub)
        call.loop, call.submit, call._idle, call._function = (
            self._loop,
            submit,
            self._idle,
            function,
        )
        call.gr_context = None  # drop the previous call's context
        call.switch()


def current_call() -> LoopCall | None:
    """The running call on an event loop; None in other code."""
    found = getcurrent()
    return found if type(found) is LoopCall else None


def require_thread() -> None:
    """Raises WouldWait in a call on an event loop. Call it before anything that blocks."""
    if type(getcurrent()) is LoopCall:
        raise WouldWait


def aside(size: int, function: Callable[[], T]) -> T:
    """The function's result; runs it in a thread if `size` bytes would block an event loop."""
    call = current_call()
    if call is None or size < _LARGE:
        return function()
    return call.in_thread(function)
