"""Accepts connections, or leaves them to a process with fewer, or refuses them."""

import asyncio
import logging
import socket
from typing import TYPE_CHECKING

from webserver.connections import Connection
from webserver.load import Load
from webserver.responses import turn_away

if TYPE_CHECKING:
    from webserver.worker import Worker

log = logging.getLogger(__name__)

# How long a process that holds more connections than another leaves a new one to that.
_YIELD_SECONDS = 0.003
# How long a process rests that can open no further file.
_REST_SECONDS = 0.5


class Accepting:
    """One process's. `beginning` counts connections that were accepted and are not served yet."""

    def __init__(self, worker: "Worker", load: Load | None) -> None:
        self.beginning = 0
        self._worker = worker
        self._load = load
        self._yields = False

    def begin(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(listening.fileno(), self._accept, listening)

    def end(self, listening: socket.socket) -> None:
        """Accepts what waits: closing the socket would reset it."""
        asyncio.get_running_loop().remove_reader(listening.fileno())
        while self._take_next(listening):
            pass
        listening.close()

    def _accept(self, listening: socket.socket) -> None:
        """Takes one connection, unless another process has fewer: that gets a moment's lead."""
        if self._load is not None:
            self._report_load(self._load)
            if not self._yields and self._load.is_above_others():
                self._yields = True
                self._rest(listening, _YIELD_SECONDS)
                return
        self._yields = False
        self._take_next(listening)

    def _take_next(self, listening: socket.socket) -> bool:
        """Takes or refuses the next connection; whether there was one."""
        admission = self._worker.admission
        try:
            accepted, address = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            log.error("a connection could not be accepted: %s", error)
            # One that waits gives its descriptor back.
            self._rest(listening, 0.0 if admission.makes_room() else _REST_SECONDS)
            return False
        peer = (str(address[0]), int(address[1]))
        if not admission.admits(peer[0]):
            turn_away(accepted, self._worker.refuse)
            return True
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.beginning += 1
        if self._load is not None:
            self._report_load(self._load)
        asyncio.get_running_loop().create_task(self._take(accepted, peer))
        return True

    def _report_load(self, load: Load) -> None:
        load.report(len(self._worker.admission.connections) + self.beginning)

    async def _take(self, accepted: socket.socket, peer: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: Connection(self._worker, peer), accepted)
        except OSError:
            accepted.close()
            self._worker.admission.give_back(peer[0])
        finally:
            self.beginning -= 1

    def _rest(self, listening: socket.socket, seconds: float) -> None:
        """A pause in which others accept, or in which descriptors are given back."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())

        def again() -> None:
            if not self._worker.is_stopping:
                loop.add_reader(listening.fileno(), self._accept, listening)

        loop.call_later(seconds, again)
