"""Code with two faces: an `async def` is awaited on the web server's event loop, or completed in a
thread, where what it awaits blocks.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Job = Callable[[], None]

# The web server's loop in this process, its thread, and what runs a job in another one.
_loop: asyncio.AbstractEventLoop | None = None
_thread = 0
_submit: Callable[[Job], None] | None = None


def begin(loop: asyncio.AbstractEventLoop, submit: Callable[[Job], None]) -> None:
    """Called on the loop: coroutines of its thread run on it from now on. `submit` runs a job in a
    thread that may block.
    """
    global _loop, _thread, _submit
    _loop, _thread, _submit = loop, threading.get_ident(), submit


def end() -> None:
    """The loop is about to end."""
    global _loop, _thread, _submit
    _loop, _thread, _submit = None, 0, None


def is_on_loop() -> bool:
    """Whether this is the thread of the web server's loop, which must not block."""
    return threading.get_ident() == _thread


def complete(work: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, in a thread that may block."""
    while True:
        try:
            waits_for = work.send(None)
        except StopIteration as found:
            return found.value  # type: ignore[no-any-return]
        if waits_for is not None:
            work.close()
            raise RuntimeError("a coroutine waits for an event loop in a thread")


def started(work: Coroutine[Any, Any, T]) -> tuple[T] | None:
    """The coroutine's result where it needs no loop; None where it stopped to go on there."""
    try:
        work.send(None)
    except StopIteration as found:
        return (found.value,)
    return None


async def to_loop() -> None:
    """What follows waits: begun in a thread by `started`, the coroutine goes on on the loop."""
    if threading.get_ident() != _thread:  # `is_on_loop`, without a call for each of the loop's
        await asyncio.sleep(0)


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """The function's outcome. On the loop another thread runs it."""
    loop, submit = _loop, _submit
    if loop is None or submit is None or not is_on_loop():
        return function(*args)
    return await outcome_of(loop, submit, lambda: function(*args))


def run_aside(job: Job) -> None:
    """Runs the job. On the loop another thread does, and no one waits for it."""
    if _submit is not None and is_on_loop():
        _submit(job)
    else:
        job()


async def outcome_of(
    loop: asyncio.AbstractEventLoop, submit: Callable[[Job], None], function: Callable[[], T]
) -> T:
    """The outcome of the function, which `submit` runs in a thread."""
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def job() -> None:
        value, failure = None, None
        try:
            value = function()
        except BaseException as error:  # raised by the call, not in the thread
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop ended
            loop.call_soon_threadsafe(settle, value, failure)

    submit(job)
    return await future
