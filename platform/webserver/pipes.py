"""A long response that a thread produces piece by piece, as fast as its client reads it."""

import asyncio
import contextlib
from collections.abc import Generator, Iterable

from webserver.streams import Stream

# What is made at once, without a client that takes it: most responses are no longer.
HELD = 4_194_304
_PIECES_AHEAD = 4


class Pipe:
    """`first` was made already, `rest` is made by the thread that calls `feed`; `proceed` sends
    both on the loop.
    """

    def __init__(self, first: list[bytes], rest: Generator[bytes]) -> None:
        self._first = first
        self._rest = rest
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_PIECES_AHEAD)
        self._has_failed = False
        self._is_over = False

    async def proceed(self, stream: Stream) -> None:
        """On the loop: sends what comes."""
        try:
            for piece in self._first:
                await stream.write(piece)
            while (made := await self._pieces.get()) is not None:
                await stream.write(made)
            if self._has_failed:
                stream.abort()  # the client must not take it for whole
        finally:
            self._is_over = True
            while not self._pieces.empty():  # unblocks the waiting writer
                self._pieces.get_nowait()

    def feed(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread that has begun it: makes the rest. Raises what making it raises, and
        ConnectionError when the client is gone.
        """

        def put(piece: bytes | None) -> None:
            asyncio.run_coroutine_threadsafe(self._put(piece), loop).result()

        try:
            for piece in self._rest:
                put(bytes(piece))
        except Exception:
            self._has_failed = True
            raise
        finally:
            self._rest.close()
            with contextlib.suppress(ConnectionError):
                put(None)

    async def _put(self, piece: bytes | None) -> None:
        if not self._is_over:
            await self._pieces.put(piece)
        if self._is_over:
            raise ConnectionResetError("the client is gone")


def begun(answered: Iterable[bytes], *, wanted: bool) -> tuple[list[bytes], Pipe | None]:
    """The whole response where it is short, else its beginning in a Pipe; nothing of it where it is
    not wanted. The iterable is closed once it was read to its end or given up.
    """
    pieces: list[bytes] = []
    size = 0
    rest = _closing(answered)
    if not wanted:
        next(rest, None)
        rest.close()
        return [], None
    for piece in rest:
        pieces.append(bytes(piece))
        size += len(piece)
        if size > HELD:
            return [], Pipe(pieces, rest)
    return pieces, None


def _closing(answered: Iterable[bytes]) -> Generator[bytes]:
    try:
        yield from answered
    finally:
        close = getattr(answered, "close", None)
        if close is not None:
            close()
