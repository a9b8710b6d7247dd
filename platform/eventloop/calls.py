"""Synchronous code on an event loop: where it would wait it steps aside, and the loop goes on.

Each call is a greenlet. A query or a command that knows of this sends what it has to and suspends
its call until the answer is there; anything else that would block raises WouldWait, and the call
begins again in a thread. So what is answered from memory changes no thread at all, and what waits
for the database once is woken by the loop instead of by another thread.
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

# Bytes that take a millisecond or more to be written as an answer.
_LARGE = 262_144
_MOST_IDLE = 64


class WouldWait(BaseException):
    """The call cannot go on where it runs: it is begun again in a thread."""


class LoopCall(greenlet):
    """One call at a time on the event loop, begun and resumed in the loop's own greenlet. `done` is
    what it has done that must not be done twice, should it begin again in a thread.
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
        """Suspends the call until `resume`: gives its value, or raises its error."""
        parent = self.parent
        assert parent is not None
        return parent.switch()

    def resume(self, value: Any, error: BaseException | None = None) -> None:
        """Goes on with the call, in the loop's own greenlet."""
        if self.dead:
            return
        if error is None:
            self.switch(value)
        else:
            self.throw(error)

    def in_thread(self, function: Callable[[], T]) -> T:
        """What the function gives or raises in a thread, while the call waits."""

        def job() -> None:
            value, failure = None, None
            try:
                value = function()
            except BaseException as error:  # it belongs to the call, not to the thread
                failure = error
            try:
                self.loop.call_soon_threadsafe(self.resume, value, failure)
            except RuntimeError:
                log.debug("a call's loop ended before its answer came")

        self.submit(job)
        return self.wait()  # type: ignore[no-any-return]


class LoopCalls:
    """The calls of one event loop; made in the loop's own greenlet. Those that have ended serve
    again: a new greenlet maps memory for its frames, which takes as long as a tenth of a call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._hub = getcurrent()
        self._idle: list[LoopCall] = []

    def begin(self, function: Callable[[], None], submit: Submit) -> None:
        """Runs the function in a LoopCall until it ends or waits for the first time. Threads of
        `submit` do what it leaves to them.
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
        call.gr_context = None  # nothing of the call before
        call.switch()


def current_call() -> LoopCall | None:
    """The call that runs on an event loop here; None in any other code."""
    found = getcurrent()
    return found if type(found) is LoopCall else None


def require_thread() -> None:
    """To be called before anything that blocks. Raises WouldWait in a call on an event loop."""
    if type(getcurrent()) is LoopCall:
        raise WouldWait


def aside(size: int, function: Callable[[], T]) -> T:
    """What the function gives; in a thread where it handles so many bytes that it would hold up an
    event loop.
    """
    call = current_call()
    if call is None or size < _LARGE:
        return function()
    return call.in_thread(function)
