"""One web process: an event loop that reads complete requests, and threads that run them."""

import asyncio
import concurrent.futures
import contextlib
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

import uvloop

from webserver.accepting import Accepting
from webserver.admission import Admission
from webserver.application import (
    Application,
    LaneOf,
    OnLoop,
    nothing_found,
    nothing_on_loop,
    one_lane,
)
from webserver.charges import (
    BY_SERVER,
    LONGEST_WAIT,
    ON_LOOP,
    Charges,
    ClientOf,
    is_admitted,
    peer,
)
from webserver.connections import Connection, Turns
from webserver.lanes import Lane
from webserver.large_bodies import LargeBodies
from webserver.limits import Limits, raised_file_limit
from webserver.load import Load
from webserver.memory import Memory, leave
from webserver.pipes import Pipe, begun
from webserver.reading import Reader
from webserver.requests import CONTINUE, KNOWN, LATER, SENT, UPGRADE, WORKER, Request
from webserver.responses import Refuse, Refused, Response, plain_refusal
from webserver.unsent import Unsent

log = logging.getLogger(__name__)

T = TypeVar("T")

_SWEEP_SECONDS = 0.5
# A process whose threads have stood still for so long makes no progress.
_STILL_SECONDS = 15.0
_GRACE_SECONDS = 4.0
# How long a process that stops waits for requests that are under way on idle connections.
_IDLE_SECONDS = 0.25
_STREAMS_END_SECONDS = 2.0
_EXPIRED_AT_ONCE = 20
_MOST_ON_LOOP = 2_500


class Worker:
    """Serves an application on listening sockets until it is stopped.

    A request is answered by `on_loop`, at once or by its coroutine, else by the WSGI `application`
    in a thread of the lane that `lane_of` names.
    """

    def __init__(
        self,
        application: Application = nothing_found,
        *,
        lane_of: LaneOf | None = None,
        limits: Limits | None = None,
        refuse: Refuse = plain_refusal,
        on_loop: OnLoop = nothing_on_loop,
        at_begin: Callable[[asyncio.AbstractEventLoop], Callable[[], None]] | None = None,
        on_progress: Callable[[], None] | None = None,
        load: Load | None = None,
        large: LargeBodies | None = None,
        client_of: ClientOf = peer,
    ) -> None:
        self.limits = limits or Limits()
        self.refuse = refuse
        self.admission = Admission(self.limits)
        self.charges = Charges(lambda address: self.limits.is_proxy(address), client_of)
        self.unsent = Unsent(self.admission, self.limits)
        self.turns = Turns()
        self.lane_of = lane_of or one_lane()
        self.lanes: set[Lane] = set()
        self.streams: set[asyncio.Task[None]] = set()
        self.is_stopping = False
        # Called on the loop when the process stops: streams say goodbye.
        self.at_stop: list[Callable[[], Awaitable[None]]] = []
        self.server = ("", 0)
        self._application = application
        self._on_loop = on_loop
        self._at_begin = at_begin
        self._answering: set[asyncio.Task[None]] = set()  # on the loop
        self._on_progress = on_progress
        self._large = large
        self.large_maximum = 0 if large is None else large.maximum
        self._accepting = Accepting(self, load)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    # --- running ----------------------------------------------------------------------------------

    def run(self, connection: Connection, request: Request) -> None:
        """Answers the request, or lets it wait while its address has used up its share."""
        waits = self.charges.begin(connection, request)
        if waits and self._loop is not None:
            then = self._run if waits < LONGEST_WAIT else self._refuse_late
            self._loop.call_later(min(waits, LONGEST_WAIT), then, connection, request)
        else:
            self._run(connection, request)

    def _refuse_late(self, connection: Connection, request: Request) -> None:
        self.charges.settle(connection, request, BY_SERVER)
        if not connection.is_lost:
            connection.refuse_current(request, Refused.TOO_MANY_AT_ONCE)

    def _run(self, connection: Connection, request: Request) -> None:
        """Answers the request: here at once, on the loop, or in a thread."""
        if connection.is_lost:
            self.charges.settle(connection, request, 0.0)
            return
        try:
            answering = self._on_loop(request, connection)
            if isinstance(answering, Response):
                self.charges.settle(connection, request, BY_SERVER)
                connection.respond(request, answering)
                return
            if answering is not None and len(self._answering) >= _MOST_ON_LOOP:
                answering.close()
            elif answering is not None:
                assert self._loop is not None
                task = self._loop.create_task(self._answer_on_loop(connection, request, answering))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
                return
            lane, holder = self.lane_of(request, connection.peer[0])
        except Exception:
            log.exception("a request could not be taken")
            connection.abort()
            return
        self._submit(connection, request, lane, holder)

    async def _answer_on_loop(
        self,
        connection: Connection,
        request: Request,
        answering: Coroutine[Any, Any, Response],
    ) -> None:
        try:
            response = await answering
        except Exception:
            log.exception("the application failed")
            response = self._failed(request)
        if request.share is not None or not response.is_known:
            self.charges.settle(connection, request, ON_LOOP, is_known=response.is_known)
        self._respond(connection, request, response)

    def _submit(self, connection: Connection, request: Request, lane: Lane, holder: bytes) -> None:
        self.lanes.add(lane)
        if not lane.has_room():
            self.charges.settle(connection, request, BY_SERVER)
            connection.refuse_current(request, Refused.OVERLOADED)
        elif not lane.has_room_for(holder):
            self.charges.settle(connection, request, BY_SERVER)
            connection.refuse_current(request, Refused.TOO_MANY_AT_ONCE)
        else:
            lane.submit(lambda: self._answer(connection, request, lane, holder), holder)

    def ask_for_large(self, connection: Reader, request: Request) -> Refused | None:
        """Checks in a thread whether the request's body may be above the maximum and then calls the
        connection; or returns a refusal at once.
        """
        if self._large is None or self._loop is None:
            return Refused.BODY_TOO_LARGE
        self.lanes.add(self._large.lane)

        def reply(why: Refused | None) -> None:
            connection.may_send(request, why)

        return self._large.ask(request, connection.peer[0], self._loop, reply)

    def _answer(self, connection: Connection, request: Request, lane: Lane, holder: bytes) -> None:
        """In a thread: runs the application, and hands what it answers to the loop."""
        loop = self._loop
        assert loop is not None
        response, pipe, is_known = None, None, False
        began = time.thread_time()
        if not connection.is_lost:
            response, pipe = self._response_to(connection, request)
            is_known = response.is_known
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process stops
            if pipe is not None and response is not None:
                loop.call_soon_threadsafe(self._respond, connection, request, response)
                response = None
                try:
                    pipe.feed(loop)
                except ConnectionError:
                    pass
                except Exception:
                    log.exception("the application failed within a response")
            took = time.thread_time() - began
            settle = partial(self.charges.settle, connection, request, took, is_known=is_known)
            loop.call_soon_threadsafe(
                self._done, connection, request, response, lane, holder, settle
            )

    def _done(
        self,
        connection: Connection,
        request: Request,
        response: Response | None,
        lane: Lane,
        holder: bytes,
        settle: Callable[[], None],
    ) -> None:
        lane.done(holder)
        settle()
        if response is not None:
            self._respond(connection, request, response)

    def _respond(self, connection: Connection, request: Request, response: Response) -> None:
        try:
            connection.respond(request, response)
        except Exception:
            log.exception("a response could not be sent")
            connection.abort()

    def _response_to(
        self, connection: Connection, request: Request
    ) -> tuple[Response, Pipe | None]:
        """The response; with a pipe where there is more of it than is made at once."""
        environ = request.environ(connection.peer, self.server)
        environ[WORKER] = self
        head: list[Any] = []

        def start_response(status: str, headers: Any, _exc_info: Any = None) -> None:
            head[:] = [int(status[:3]), headers]

        try:
            answered = self._application(environ, start_response)
            pipe = None
            if not isinstance(answered, list):
                answered, pipe = begun(answered, wanted=request.method != "HEAD")
            status, headers = head
            proceed = environ.get(CONTINUE) if pipe is None else pipe.proceed
            sent, later, upgrade = (environ.get(name) for name in (SENT, LATER, UPGRADE))
            made = Response(status, headers, answered, proceed, sent, later=later, upgrade=upgrade)
            made.is_known = is_admitted(KNOWN in environ, status)
            return made, pipe
        except Exception:
            log.exception("the application failed")
            return self._failed(request), None

    def _failed(self, request: Request) -> Response:
        status, headers, body = self.refuse(Refused.FAILED, request)
        return Response(status, headers, [body])

    def call(
        self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any
    ) -> concurrent.futures.Future[T]:
        """Runs a coroutine function on the loop, for a thread."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(function(*args), self._loop)

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Until SIGTERM, SIGINT or `stop`."""
        loop = self._loop = asyncio.get_running_loop()
        at_end = None if self._at_begin is None else self._at_begin(loop)
        self._stopped = asyncio.Event()
        self.server = sockets[0].getsockname()[:2]
        self.limits = self.admission.limits = self.limits.fitting(raised_file_limit())
        for each in sockets:
            each.setblocking(False)
            self._accepting.begin(each)
        sweeping = loop.create_task(self._sweep())
        try:
            await self._stopped.wait()
        finally:
            self.is_stopping = True
            for each in sockets:
                self._accepting.end(each)
            await self._end()
            sweeping.cancel()
            if at_end is not None:
                at_end()
            for lane in self.lanes:
                lane.stop()
            for lane in self.lanes:
                await asyncio.to_thread(lane.join, 1.0)

    def stop(self) -> None:
        """Called on the loop: ends `serve` in order."""
        if self._stopped is not None:
            self._stopped.set()

    # --- late connections -------------------------------------------------------------------------

    async def _sweep(self) -> None:
        memory = Memory()
        while True:
            try:
                memory.look()
                await self._close_late_connections(time.monotonic())
            except MemoryError:
                leave()
            except Exception:
                # Without progress the supervisor replaces the process.
                log.exception("the check of connections failed")
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _close_late_connections(self, now: float) -> None:
        late = [each for each in self.admission.connections if now > each.deadline]
        for number, connection in enumerate(late):
            if number % _EXPIRED_AT_ONCE == 0:
                await asyncio.sleep(0)  # thousands may be late together, and others wait meanwhile
            if not connection.is_lost and now > connection.deadline:
                connection.expire()
        self.unsent.look(now)
        if self._on_progress is not None and not any(
            lane.stands_still(_STILL_SECONDS) for lane in self.lanes
        ):
            self._on_progress()

    async def _end(self) -> None:
        # Requests may be under way on idle connections: they are answered with `Connection: close`.
        deadline = time.monotonic() + _IDLE_SECONDS
        while time.monotonic() < deadline and (
            self._accepting.beginning or self.admission.has_idle
        ):
            await asyncio.sleep(0.01)
        for connection in list(self.admission.connections):
            connection.stop()
        for each in self.at_stop:
            with contextlib.suppress(Exception):
                await each()
        if self.streams:
            await asyncio.wait(self.streams, timeout=_STREAMS_END_SECONDS)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self.admission.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            for connection in list(self.admission.connections):
                if connection.is_waiting:
                    connection.stop()


def run_worker(worker: Worker, sockets: Sequence[socket.socket]) -> None:
    """Serves until SIGTERM or SIGINT."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, worker.stop)
        await worker.serve(sockets)

    uvloop.run(main())
