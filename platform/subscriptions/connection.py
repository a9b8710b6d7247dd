"""Connection: one client's WebSocket, its calls and its notifications."""

import asyncio
import contextlib
import itertools
import logging
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

from access import finished_calls
from access.callers import Caller
from access.counted_calls import NOTIFICATION
from jsonrpc import dispatch
from jsonrpc.errors import InternalError, MethodNotFound, RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import encode
from livefeed.messages import Answer
from subscriptions.calls import Batch, is_notice, is_utf8
from subscriptions.errors import ChainNotFollowed, SubscriptionLimitReached, SubscriptionUnknown
from subscriptions.kinds import Subscription
from subscriptions.members import Member
from subscriptions.reader import Reader
from subscriptions.signature_kind import SignatureSubscription
from webserver.paced_input import FIRST_FRAMES, PacedInput, Share
from webserver.upgrades import Channel

if TYPE_CHECKING:
    from subscriptions.hub import Hub

log = logging.getLogger(__name__)

MOST_MESSAGE = 65_536
# What waits for a client that does not read: above it the client is disconnected.
MOST_WAITING = 20_000
MOST_WAITING_BYTES = 4 * 1_048_576
# Above it what the client sends is not read: pings are answered whether it reads or not.
_MOST_UNSENT = 1_048_576
# The system's own buffer, which would take megabytes more.
_BUFFER_BYTES = 262_144
# A client that was silent for so long is asked whether it is there, and is gone after so long.
_PING_SECONDS = 20.0
_GONE_SECONDS = 60.0
# How long a client that is disconnected may take to read why.
_GOODBYE_SECONDS = 5.0
# A message that was begun has to be whole by then, in at most so many frames.
_MESSAGE_SECONDS = 20.0
_MOST_FRAMES = 1_024
# Messages a second, and at once: slower reading is all that a client notices.
_CALLS_PER_SECOND = 500.0
_CALLS_AT_ONCE = 5_000.0
_MAX_BATCH = 100

_numbers = itertools.count(1)
# Why a connection is ended → the code of its close frame.
_CODES: dict[str, int] = {
    "service_stops": CloseCode.SERVICE_RESTART,
    "sockets_unavailable": CloseCode.TRY_AGAIN_LATER,
}


class Connection:
    """Used on the event loop: the handler of an upgraded connection."""

    __slots__ = (
        *("_asked_at", "_begun_at", "_calls", "_channel", "_ending", "_heard_at", "_hub"),
        *("_input", "_is_held", "_is_text", "_pieces", "_protocol", "_queue", "_waiters"),
        *("caller", "is_ended", "member", "methods", "open", "unread_bytes"),
    )

    def __init__(
        self, channel: Channel, hub: "Hub", member: Member, caller: Caller, methods: MethodTable
    ) -> None:
        self.member = member
        self.caller = caller
        self.methods = methods
        self.open: dict[int, Subscription] = {}
        self.is_ended = False
        self._channel = channel
        self._hub = hub
        self._protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=MOST_MESSAGE)
        self._queue: deque[bytes] = deque()
        self.unread_bytes = 0
        # The frames of a message that was begun, since when, and whether it is text.
        self._pieces: list[bytes] = []
        self._begun_at = 0.0
        self._is_text = False
        self._heard_at = now = time.monotonic()
        self._calls = Share(now, rate=_CALLS_PER_SECOND, at_once=_CALLS_AT_ONCE)
        self._input = PacedInput(
            channel,
            hub.members.share(member, now),
            read=self._read,
            is_over=lambda: self._protocol.state is not State.OPEN,
            size=FIRST_FRAMES,
        )
        self._is_held = False
        self._asked_at = 0.0
        self._ending: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []
        channel.bound_buffer(_BUFFER_BYTES)
        hub.members.add(self)

    # --- from the web server ----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        self._input.received(data)

    def _read(self, data: bytes) -> None:
        """Reads a slice of what came."""
        protocol = self._protocol
        protocol.receive_data(data)
        if protocol.state is State.OPEN:
            # Pongs go first: a ping may come between the frames of a message.
            self._flush_protocol()
        for event in protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
        self._flush_protocol()
        if protocol.state is not State.OPEN and not self.is_ended:
            # It said goodbye, or what it sent is no WebSocket: the library has answered.
            self._finish()
        if not self._is_held and self._channel.unsent > _MOST_UNSENT:
            self._is_held = True
            self._input.hold()

    def resume_writing(self) -> None:
        while self._queue and not self._channel.is_paused:
            message = self._queue.popleft()
            self._waits(-len(message))
            self._channel.write(message)
        if self._channel.is_paused:
            return
        self._wake()
        if self._is_held:
            self._is_held = False
            self._input.release()

    def connection_lost(self) -> None:
        self._input.stop()
        self._finish()
        if self._ending is not None:
            self._ending.cancel()
        asyncio.get_running_loop().create_task(self._leave())

    def stop(self) -> None:
        self.end("service_stops")

    async def _leave(self) -> None:
        with contextlib.suppress(RuntimeError):  # the process stops
            await self._hub.in_thread(self._hub.members.leave, self.member)

    # --- sending ----------------------------------------------------------------------------------

    def notify(
        self, subscription: Subscription, result: bytes, slot: int, index: int | None
    ) -> None:
        """Sends a notification of a subscription that is open."""
        if subscription.number not in self.open:
            return
        name = subscription.name + NOTIFICATION
        self.notify_as(name, subscription, result, slot, index)
        if isinstance(subscription, SignatureSubscription) and subscription.is_done:
            self._close(subscription)

    def notify_as(
        self, name: str, subscription: Subscription, result: bytes, slot: int, index: int | None
    ) -> None:
        """The same under another name."""
        place = b""
        if subscription.is_placed:
            shown = b"null" if index is None else b"%d" % index
            place = b',"slot":%d,"transactionIndex":%b' % (slot, shown)
        self.send_at(name, subscription, result, place)

    def send_at(self, name: str, subscription: Subscription, result: bytes, place: bytes) -> None:
        """A message of a subscription; `place` has more members of params, with their commas."""
        message = b'{"jsonrpc":"2.0","method":"%b","params":{"result":%b,"subscription":%d%b}}' % (
            name.encode(),
            result,
            subscription.number,
            place,
        )
        self._hub.members.count(self.member, name, len(message))
        self._send(message)

    async def drained(self) -> None:
        """Returns when the client has taken what was sent, or is gone."""
        while (self._queue or self._channel.is_paused) and not self.is_ended:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _send(self, message: bytes) -> None:
        if self.is_ended:
            return
        frame = Frame(Opcode.TEXT, message).serialize(mask=False)
        if not self._queue and not self._channel.is_paused:
            self._channel.write(frame)
            return
        self._queue.append(frame)
        self._waits(len(frame))
        if len(self._queue) > MOST_WAITING or self.unread_bytes > MOST_WAITING_BYTES:
            self.end("too_slow")

    def _waits(self, size: int) -> None:
        """So many bytes more wait for the client, which may be ended for that."""
        self.unread_bytes += size
        self._hub.members.waits(self.member, size)

    def end(self, why: str) -> None:
        """Disconnects the client, with a notice that says why."""
        if self.is_ended:
            return
        self._queue.clear()
        self._waits(-self.unread_bytes)
        notice = {"jsonrpc": "2.0", "method": "endNotification", "params": {"reason": why}}
        self._channel.write(Frame(Opcode.TEXT, encode(notice)).serialize(mask=False))
        self._count("subscriptions", why)
        self._protocol.send_close(_CODES.get(why, CloseCode.POLICY_VIOLATION), why)
        self._flush_protocol()
        self._finish()

    def _finish(self) -> None:
        """Nothing more is sent but what was written."""
        if self.is_ended:
            return
        self.is_ended = True
        self._queue.clear()
        self._waits(-self.unread_bytes)
        for subscription in list(self.open.values()):
            self._close(subscription)
        self._hub.members.discard(self)
        self._wake()
        if not self._channel.is_lost:
            self._channel.close()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(_GOODBYE_SECONDS, self._abort)

    def _abort(self) -> None:
        if not self._channel.is_lost:
            self._channel.abort()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _flush_protocol(self) -> None:
        chunks = [chunk for chunk in self._protocol.data_to_send() if chunk]
        if chunks:
            self._channel.write_all(chunks)

    def tick(self) -> None:
        """About every second: asks a silent client whether it is there."""
        now = time.monotonic()
        silent = now - self._heard_at
        if silent > _GONE_SECONDS:
            self._finish()
            self._abort()
        elif self._pieces and now - self._begun_at > _MESSAGE_SECONDS:
            self.end("message_timed_out")
        elif silent > _PING_SECONDS and now - self._asked_at > _PING_SECONDS / 2:
            self._asked_at = now
            self._protocol.send_ping(b"")
            self._flush_protocol()

    # --- calls ------------------------------------------------------------------------------------

    def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return  # the library answers pings
        if self.is_ended:
            return
        if not self._pieces:
            self._begun_at = time.monotonic()
            self._is_text = frame.opcode is Opcode.TEXT
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            body = b"".join(self._pieces)
            self._pieces = []
            if self._is_text and not is_utf8(body):
                self._break_off(CloseCode.INVALID_DATA, "text that is not UTF-8")
                return
            self._pay()
            self._answer(body)
        elif len(self._pieces) > _MOST_FRAMES:
            self._break_off(CloseCode.MESSAGE_TOO_BIG, "too many frames")

    def _break_off(self, code: CloseCode, why: str) -> None:
        """What came is not WebSocket as the service speaks it."""
        self._protocol.fail(code, why)
        self._flush_protocol()
        self._finish()

    def _pay(self) -> None:
        """Reads a client that calls too often later."""
        waits = self._calls.charge(1, time.monotonic())
        if waits:
            self._input.hold()
            asyncio.get_running_loop().call_later(waits, self._input.release)

    def _answer(self, body: bytes) -> None:
        if is_notice(body):
            return  # such as the pings of JavaScript's clients: it wants no answer
        try:
            requests = dispatch.read(body, max_batch=_MAX_BATCH)
        except RpcError as error:
            self._count("none", error.reason, error)
            self._send(dispatch.failure(error))
            return
        batch = Batch(len(requests.items), is_batch=requests.batch, send=self._send)
        for position, request in enumerate(requests.items):
            self._call(request, partial(batch.answer, position))

    def _call(self, request: dispatch.Request, answer: Any) -> None:
        method = self.methods.get(request.method)
        try:
            if request.error is not None:
                raise request.error
            if method is None:
                raise MethodNotFound(request.method)
            result = method.function(self, *method.params.read(request.params))
            if isinstance(result, Subscription):
                self._subscribe(result, request, answer)
                return
        except RpcError as error:
            self._fail(request, error, answer)
            return
        except Exception:
            log.exception("a call by WebSocket failed")
            self._fail(request, InternalError(), answer)
            return
        self._count(request.method, "ok")
        answer(dispatch.result_head(request.id) + encode(result) + b"}")

    def _fail(self, request: dispatch.Request, error: RpcError, answer: Any) -> None:
        known = self.methods.get(request.method) is not None
        self._count(request.method if known else "unknown", error.reason, error)
        answer(dispatch.failure(error, request.id))

    def _subscribe(
        self, subscription: Subscription, request: dispatch.Request, answer: Any
    ) -> None:
        if len(self.open) >= self.caller.stream_subscriptions:
            raise SubscriptionLimitReached(self.caller.stream_subscriptions)
        subscription.number = next(_numbers)
        subscription.send = self.notify
        self.open[subscription.number] = subscription

        def ready(found: Answer | None) -> None:
            if subscription.number not in self.open or self.is_ended:
                return
            if found is None:
                del self.open[subscription.number]
                self._fail(request, ChainNotFollowed(), answer)
                return
            self._count(request.method, "ok")
            answer(dispatch.result_head(request.id) + b"%d}" % subscription.number)

        reading = subscription.reading(self._hub, self)
        if subscription.memory is not None:
            reading = Reader(subscription, subscription.memory, self._hub, self).run()
        if reading is None:
            self._hub.open(subscription, ready)
        else:
            ready(Answer(0, 0, 0, None))
            subscription.task = asyncio.get_running_loop().create_task(reading)

    def unsubscribe(self, number: int) -> bool:
        """Raises SubscriptionUnknown."""
        subscription = self.open.get(number)
        if subscription is None:
            raise SubscriptionUnknown
        self._close(subscription)
        return True

    def _close(self, subscription: Subscription) -> None:
        self.open.pop(subscription.number, None)
        if subscription.task is not None:
            subscription.task.cancel()
        self._hub.close(subscription)

    def _count(self, method: str, status: str, error: RpcError | None = None) -> None:
        finished_calls.count(
            self.member.key_id,
            method,
            status,
            path="WebSocket",
            address=self.member.address,
            error=error,
        )
