"""The way to a server, as a relay of TCP connections that can be cut, refused, or hang."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

# Closing sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


class Network:
    """Relays connections to a port of this machine, or a socket's path, from its own `port`."""

    def __init__(self, server: int | str) -> None:
        self._to = server
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_open = True
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        served = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._relay, "127.0.0.1", 0), self._loop
        )
        self._listening = served.result()
        self.port = int(self._listening.sockets[0].getsockname()[1])

    def lead_to(self, server: int | str) -> None:
        """Another server, from now on."""
        self._to = server
        self.cut()

    def cut(self) -> None:
        """Resets every connection; new ones work."""
        self._loop.call_soon_threadsafe(self._reset)

    @contextlib.contextmanager
    def refused(self) -> Iterator[None]:
        """Resets every connection, old and new."""
        self._is_open = False
        self.cut()
        try:
            yield
        finally:
            self._is_open = True

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Nothing passes, in no direction; connections stay, and new ones are accepted."""
        self._loop.call_soon_threadsafe(self._flows.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._flows.set)

    def close(self) -> None:
        async def end() -> None:
            self._listening.close()
            self._reset()
            mine = asyncio.current_task()
            for task in asyncio.all_tasks():
                if task is not mine:
                    task.cancel()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _reset(self) -> None:
        for writer in self._writers:
            peer = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
        self._writers.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if not self._is_open:
            self._reset()
            return
        await self._flows.wait()
        try:
            if isinstance(self._to, int):
                theirs, to_them = await asyncio.open_connection("127.0.0.1", self._to)
            else:
                theirs, to_them = await asyncio.open_unix_connection(self._to)
        except OSError:
            self._writers.discard(writer)
            writer.transport.abort()
            return
        self._writers.add(to_them)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._pass(reader, to_them), self._pass(theirs, writer))
        self._writers -= {writer, to_them}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.contextmanager
def network_to(server: int | str) -> Iterator[Network]:
    found = Network(server)
    try:
        yield found
    finally:
        found.close()
