"""Connection: one client's WebSocket, its calls and its notifications."""

import asyncio
import contextlib
import itertools
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from websockets.frames import CloseCode

from access import usage
from access.callers import Caller
from access.counted_calls import NOTIFICATION
from gateway.open_streams import Member
from jsonrpc import dispatch
from jsonrpc.errors import InternalError, MethodNotFound, RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import encode
from livefeed.messages import Answer, Missed
from subscriptions.calls import Batch, is_notice
from subscriptions.errors import ChainNotFollowed, SubscriptionLimitReached, SubscriptionUnknown
from subscriptions.kinds import Subscription
from subscriptions.reader import Reader
from subscriptions.signature_kind import SignatureSubscription
from webserver.paced_input import Share
from webserver.upgrades import Channel
from webserver.websocket import WebSocket

if TYPE_CHECKING:
    from subscriptions.hub import Hub

log = logging.getLogger(__name__)

# Messages a second, and at once: slower reading is all that a client notices.
_CALLS_PER_SECOND = 500.0
_CALLS_AT_ONCE = 5_000.0
_MAX_BATCH = 100

_numbers = itertools.count(1)
# Why a connection is ended → the code of its close frame.
_CODES: dict[str, int] = {
    "service_stops": CloseCode.SERVICE_RESTART,
    "sockets_unavailable": CloseCode.TRY_AGAIN_LATER,
    "stream_silent": CloseCode.TRY_AGAIN_LATER,
    "interrupted": CloseCode.TRY_AGAIN_LATER,
}


class Connection(WebSocket):
    """Used on the event loop: the handler of an upgraded connection."""

    __slots__ = ("_calls", "_hub", "caller", "member", "methods", "open")

    def __init__(
        self, channel: Channel, hub: "Hub", member: Member, caller: Caller, methods: MethodTable
    ) -> None:
        now = time.monotonic()
        super().__init__(channel, hub.members.share(member, now))
        self.member = member
        self.caller = caller
        self.methods = methods
        self.open: dict[int, Subscription] = {}
        self._hub = hub
        self._calls = Share(now, rate=_CALLS_PER_SECOND, at_once=_CALLS_AT_ONCE)
        hub.members.add(self)

    @property
    def hears_chain(self) -> bool:
        # One that reads what is stored meanwhile heard what happens before.
        return any(each.is_wanted or each.began_at for each in self.open.values())

    def is_interrupted(self, missed: Missed) -> bool:
        return any(each.is_interrupted(missed) for each in self.open.values())

    def connection_lost(self) -> None:
        super().connection_lost()
        asyncio.get_running_loop().create_task(self._leave())

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

    def end(self, why: str) -> None:
        """Disconnects the client, with a notice that says why."""
        if not self.is_open:
            return
        self._count("subscriptions", why)
        notice = {"jsonrpc": "2.0", "method": "endNotification", "params": {"reason": why}}
        self._say_goodbye(why, _CODES.get(why, CloseCode.POLICY_VIOLATION), encode(notice))

    def _waits(self, size: int) -> None:
        """Its key's, and the process's, are bounded too; it may be ended for that."""
        super()._waits(size)
        self._hub.members.waits(self.member, size)

    def _on_end(self) -> None:
        for subscription in list(self.open.values()):
            self._close(subscription)
        self._hub.members.discard(self)

    # --- calls ------------------------------------------------------------------------------------

    def _take(self, message: bytes, *, is_text: bool) -> None:
        self._pay()
        self._answer(message)

    def _pay(self) -> None:
        """Reads a client that calls too often later."""
        waits = self._calls.charge(1, time.monotonic())
        if waits:
            self._input.wait(waits)

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
        usage.count_finished(
            self.member.key_id,
            method,
            status,
            path="WebSocket",
            address=self.member.address,
            error=error,
        )
