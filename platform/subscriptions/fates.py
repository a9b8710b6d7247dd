"""fatesSubscribe: fates by WebSocket at /priority, with what was missed first."""

import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from solders.signature import Signature

from jsonrpc.errors import InvalidParams
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64, Config
from jsonrpc.wire import encode
from priority.fates.errors import StreamUnavailable
from priority.fates.services import lookup
from priority.fates.services.events import FateMessage, Place, read_place, since
from priority.fates.store.fates import (
    accepted_after,
    customers_of,
    keys_of_the_customer,
    row_before,
    row_of,
)
from priority.fates.streams import MOST_SIGNATURES, Streams
from shared_state.outages import AWAY
from subscriptions.configs import signature_of
from subscriptions.connection import Connection
from subscriptions.hub import Hub
from subscriptions.kinds import Subscription
from subscriptions.methods import Caller
from subscriptions.views import SubscriptionSocket

log = logging.getLogger(__name__)

fate_methods = MethodTable()

_HEARTBEAT_SECONDS = 3_600.0
_ROWS_AT_ONCE = 200
# What was accepted so long before a place had perhaps no fate there yet.
_LONGEST_LIFE = timedelta(minutes=10)


class FatesConfig(Config, frozen=True, kw_only=True):
    """Which fates, and what the subscription begins behind: an event or a submission."""

    signatures: list[str] | None = None
    from_event: str | None = None
    from_signature: str | None = None


# All fates, from now on.
_EVERY = FatesConfig()


class FateSocket(SubscriptionSocket):
    """WebSockets at /priority."""

    methods = fate_methods


@fate_methods.add("fatesSubscribe")
def fates_subscribe(call: Caller, config: FatesConfig = _EVERY) -> Subscription:
    texts = config.signatures or []
    if len(texts) > MOST_SIGNATURES:
        raise InvalidParams(f"Too many signatures provided; max {MOST_SIGNATURES}")
    if config.from_event is not None and config.from_signature is not None:
        raise InvalidParams("fromEvent and fromSignature exclude each other")
    place = None
    if config.from_event is not None:
        place = read_place(config.from_event)
        if place is None:
            raise InvalidParams("Invalid Request: fromEvent is not the eventId of a notification")
    begin = None if config.from_signature is None else signature_of(config.from_signature)
    return FatesSubscription(
        signatures=tuple(map(signature_of, texts)), place=place, from_signature=begin
    )


@fate_methods.add("fatesUnsubscribe")
def fates_unsubscribe(call: Caller, number: U64) -> bool:
    return call.unsubscribe(number)


@dataclass(eq=False, slots=True, kw_only=True)
class FatesSubscription(Subscription):
    """Changes of the fates of the caller's customer, of some signatures or of all."""

    name: ClassVar[str] = "fates"

    signatures: tuple[Signature, ...] = ()
    place: Place | None = None
    from_signature: Signature | None = None

    def reading(self, hub: Hub, connection: Connection) -> Coroutine[None, None, None]:
        return _Fates(self, hub, connection).run()


class _Fates:
    """Sends one subscription what was missed, and then what happens."""

    def __init__(self, asked: FatesSubscription, hub: Hub, connection: Connection) -> None:
        self._asked, self._hub, self._connection = asked, hub, connection
        self._wanted = frozenset(map(bytes, asked.signatures))

    async def run(self) -> None:
        key_id = self._connection.caller.key_id
        assert key_id is not None  # the path wants a key
        try:
            customer = (await self._hub.in_thread(customers_of, [key_id])).get(key_id)
            if customer is None:
                self._connection.end("key_unknown")
                return
            await self._follow(key_id, customer)
        except (*AWAY, StreamUnavailable) as error:
            log.warning("a subscription to fates could not go on: %s", error)
            self._connection.end("sockets_unavailable")

    async def _follow(self, key_id: int, customer: int) -> None:
        streams = Streams.of(self._hub.worker)
        # Before anything is read: what happens meanwhile waits there.
        following, here = await streams.subscribe(
            self._hub.worker, customer, self._asked.signatures
        )
        try:
            here = await self._missed(streams, key_id, here)
            self._send("readyNotification", b"{}", here)
            while not following.ended:
                for each in await following.take(_HEARTBEAT_SECONDS):
                    if each.place > here:
                        self._send_fate(each)
                await self._connection.drained()
            self._connection.end(following.ended)
        finally:
            streams.feed.unsubscribe(following)

    async def _missed(self, streams: Streams, key_id: int, here: Place) -> Place:
        """Sends what lies behind the subscription's beginning; the place up to which it did."""
        asked = self._asked
        if asked.from_signature is not None:
            row = await self._hub.in_thread(row_of, key_id, bytes(asked.from_signature))
            if row is None:
                self._gap({"reason": "from_signature_unknown"})
            else:
                await self._standings(key_id, row)
            return here
        if asked.place is None:
            if asked.signatures:
                found = await self._hub.in_thread(_known, asked.signatures, key_id)
                for text in found:
                    self._send("fatesNotification", text, None)
            return here
        keys = await self._hub.in_thread(keys_of_the_customer, key_id)
        history = await since(streams.redis, keys, asked.place)
        if not history.is_whole:
            self._gap({"reason": "not_kept", "since": str(asked.place)})
            moment = datetime.fromtimestamp(asked.place.milliseconds / 1_000, UTC)
            row = await self._hub.in_thread(row_before, moment - _LONGEST_LIFE)
            await self._standings(key_id, row)
        for each in history.messages:
            if not self._wanted or each.signature in self._wanted:
                self._send_fate(each)
        return max([here, *(each.place for each in history.messages[-1:])])

    async def _standings(self, key_id: int, row: int) -> None:
        """What has become of each submission above the row."""
        while True:
            found = await self._hub.in_thread(_standings_above, key_id, row)
            for signature, text in found.standings:
                if not self._wanted or signature in self._wanted:
                    self._send("fatesNotification", text, None)
            await self._connection.drained()
            if found.last is None:
                return
            row = found.last

    def _send_fate(self, each: FateMessage) -> None:
        self._send("fatesNotification", each.data, each.place)

    def _gap(self, result: dict[str, Any]) -> None:
        self._send("gapNotification", encode(result), None)

    def _send(self, name: str, result: bytes, place: Place | None) -> None:
        shown = b"null" if place is None else b'"%b"' % str(place).encode()
        self._connection.send_at(name, self._asked, result, b',"eventId":' + shown)


@dataclass(frozen=True, slots=True)
class _Standings:
    """(signature, its fate as JSON) in order, and the last row, None where there are no more."""

    standings: list[tuple[bytes, bytes]]
    last: int | None


def _standings_above(key_id: int, row: int) -> _Standings:
    rows = accepted_after(key_id, row, limit=_ROWS_AT_ONCE)
    found = [
        (bytes(each.signature), encode(lookup.standing(lookup.as_fate(each, attempts=[]))))
        for each in rows
    ]
    return _Standings(found, rows[-1].pk if len(rows) == _ROWS_AT_ONCE else None)


def _known(signatures: Sequence[Signature], key_id: int) -> list[bytes]:
    found = lookup.fates(signatures, key_id=key_id)
    return [encode(lookup.standing(each)) for each in found if each is not None]
