"""Notifications to WebSocket clients and their subscriptions."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from solders.signature import Signature

from chain.commitment import Commitment
from jsonrpc.methods import MethodTable
from localnet.bank import Bank
from localnet.ledger import Ledger
from localnet.methods.table import Node

_MOST_SUBSCRIPTIONS = 10_000

subscriptions = MethodTable()
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription of a client: each function gives the results of one event, in
    order. `once` ends it with its first final notice.
    """

    method: str
    on_reached: Callable[[Bank, Commitment], list[Any]] | None = None
    on_opened: Callable[[Bank], list[Any]] | None = None
    on_received: Callable[[Signature], list[Any]] | None = None
    once: bool = False


@dataclass(eq=False, slots=True)
class Listener:
    """One client's connection: its subscriptions by number, and how a message gets to it."""

    node: Node
    notices: "Notices"
    send: Callable[[bytes | None], None]
    open: dict[int, Subscription] = field(default_factory=dict)

    def subscribe(self, subscription: Subscription) -> int:
        """Its number, which every notice carries. Numbers are never used twice."""
        number = next(self.notices.numbers)
        self.open[number] = subscription
        return number

    def full(self) -> bool:
        """Whether this client has as many as one may have."""
        return len(self.open) >= _MOST_SUBSCRIPTIONS

    def notify(self, number: int, subscription: Subscription, results: list[Any]) -> None:
        """Sends the results; a subscription that ended meanwhile gets none."""
        if number in self.open:
            for result in results:
                self.send(_notice(subscription.method, number, result))

    def notify_soon(self, number: int, results: list[Any]) -> None:
        """Notifies a subscription fulfilled at once, after its number was sent, and ends it."""

        def finish() -> None:
            subscription = self.open.get(number)
            if subscription is not None:
                self.notify(number, subscription, results)
                del self.open[number]

        asyncio.get_running_loop().call_soon(finish)


class Notices:
    """Watches a ledger for all listeners."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.listeners: set[Listener] = set()
        self.numbers = itertools.count(1)

    def close(self) -> None:
        """Ends every connection."""
        # One that gets None ends, and is not a listener any more.
        for listener in list(self.listeners):
            listener.send(None)

    def received(self, signature: Signature) -> None:
        for listener, number, subscription in self._all():
            if subscription.on_received is not None:
                listener.notify(number, subscription, subscription.on_received(signature))

    def opened(self, bank: Bank) -> None:
        for listener, number, subscription in self._all():
            if subscription.on_opened is not None:
                listener.notify(number, subscription, subscription.on_opened(bank))

    def reached(self, bank: Bank, commitment: Commitment) -> None:
        for listener, number, subscription in self._all():
            if subscription.on_reached is None:
                continue
            results = subscription.on_reached(bank, commitment)
            listener.notify(number, subscription, results)
            if results and subscription.once:
                listener.open.pop(number, None)

    def _all(self) -> list[tuple[Listener, int, Subscription]]:
        return [
            (listener, number, subscription)
            for listener in self.listeners
            for number, subscription in listener.open.items()
        ]


def _notice(method: str, number: int, result: Any) -> bytes:
    params = {"result": result, "subscription": number}
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})
