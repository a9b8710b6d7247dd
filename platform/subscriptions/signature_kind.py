"""Subscriptions to a signature: to the outcome of its transaction, which comes once."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from livefeed.messages import Kind, Level, Missed, Want
from shared_state.outages import AWAY
from subscriptions.content import Content
from subscriptions.kinds import Load, Result, Subscription, encode, in_context
from subscriptions.link import answer_to
from subscriptions.stored_outcomes import outcomes

if TYPE_CHECKING:
    from subscriptions.connection import Connection
    from subscriptions.hub import Hub

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0


@dataclass(eq=False, slots=True, kw_only=True)
class SignatureSubscription(Subscription):
    """Ends with the first notification of its level. With a memory (`looks_back`) also with what is
    stored of its transaction, at any time.
    """

    name: ClassVar[str] = "signature"

    signature: bytes
    received: bool = False
    is_received: bool = False
    looks_back: bool = False

    @property
    def is_placed(self) -> bool:
        return self.looks_back

    def is_interrupted(self, missed: Missed) -> bool:
        return False  # what the feed missed of it, the ledger answers

    def wants(self) -> list[Want]:
        wants = [Want(Kind.SIGNATURE, self.level, self.signature)]
        if self.received:
            wants.append(Want(Kind.RECEIVED, Level.PROCESSED, self.signature))
        return wants

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        for ran in content.transactions:
            if ran.signature == self.signature:
                yield self.processed(content.slot, ran.error), ran.index
                return

    def reading(self, hub: "Hub", connection: "Connection") -> Coroutine[None, None, None] | None:
        return answered(self, hub) if self.looks_back else None

    def processed(self, slot: int, error: Any) -> bytes:
        return in_context(slot, encode({"err": error}))

    def received_in(self, slot: int) -> bytes:
        return in_context(slot, b'"receivedSignature"')


async def answered(subscription: SignatureSubscription, hub: "Hub") -> None:
    """Follows the chain, then looks at what is stored; tries again until it has done both."""
    is_followed = False
    while not subscription.is_done:
        if not is_followed:
            is_followed = await answer_to(partial(hub.open, subscription)) is not None
        try:
            found = await hub.in_past(outcomes, [subscription.signature])
        except AWAY as error:
            log.warning("an outcome cannot be looked for: %s", error)
        else:
            for _, slot, wrong, index in found:
                hub.notify_outcome(subscription, slot, wrong, index)
            if is_followed:
                return
        await asyncio.sleep(_PAUSE_SECONDS)
