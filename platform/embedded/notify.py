"""Progress of this process, reported to its supervisor: the datagrams of sd_notify(3)."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

# The supervisor's socket, and after how many microseconds of silence it ends the process.
SOCKET = "NOTIFY_SOCKET"
INTERVAL = "WATCHDOG_USEC"

_SECONDS = 1.0


class _Progress:
    """`at` in Unix seconds, the rest by the monotonic clock."""

    def __init__(self) -> None:
        self.at = 0.0
        self.notified_at = 0.0
        self.allowed_until = 0.0
        self.ticker: threading.Thread | None = None


_state = _Progress()


def _forget_in_child() -> None:
    global _state
    _state = _Progress()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def notify(*assignments: str) -> None:
    """Sends assignments such as `WATCHDOG=1` to the socket of NOTIFY_SOCKET (`@` begins an abstract
    name). Does nothing without one; never waits, never raises.
    """
    address = os.environ.get(SOCKET, "")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    with (
        contextlib.suppress(OSError, ValueError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.setblocking(False)
        sender.sendto("\n".join(assignments).encode(), address)


def progress() -> None:
    """The main work of this process went on. Called from its loop, as often as it turns; the
    supervisor is notified at most once a second.
    """
    state, now = _state, time.monotonic()
    is_first, state.at = not state.at, time.time()
    if is_first or now - state.notified_at >= _SECONDS:
        state.notified_at = now
        notify(*(("READY=1",) if is_first else ()), "WATCHDOG=1")


def progressed_at() -> float:
    """When the main work went on last, in Unix seconds; 0 before the first time."""
    return _state.at


@contextlib.contextmanager
def allowed(seconds: float) -> Iterator[None]:
    """What the main thread does inside may take so long: a wait with a deadline of its own. A
    thread reports progress meanwhile; it does not in a process that is stopped.
    """
    state = _state
    before = state.allowed_until
    state.allowed_until = time.monotonic() + seconds
    progress()
    if state.ticker is None:
        state.ticker = threading.Thread(target=_tick, args=(state,), name="progress", daemon=True)
        state.ticker.start()
    try:
        yield
    finally:
        state.allowed_until = before
        progress()


def _tick(state: _Progress) -> None:
    while True:
        time.sleep(_SECONDS / 2)
        if time.monotonic() < state.allowed_until:
            progress()
