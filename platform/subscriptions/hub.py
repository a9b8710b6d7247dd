"""Hub: the subscriptions of one web process, and what the live feed sends for them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from django.conf import settings
from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import CLOCK
from chain.transaction_errors import transaction_error_json
from livefeed.messages import (
    Answer,
    Body,
    Kind,
    Known,
    Level,
    Moved,
    Opened,
    Reached,
    Received,
    Rooted,
)
from rewind.accounts.services.newest import newest_accounts
from shared_state.outages import AWAY
from subscriptions.content import Content, content_of
from subscriptions.fed_process import FedProcess
from subscriptions.kinds import Subscription, is_mint
from subscriptions.link import Ready
from subscriptions.signature_kind import SignatureSubscription
from subscriptions.slot_kinds import SlotSubscription, SlotsUpdatesSubscription
from subscriptions.stored_outcomes import StoredOutcomes

if TYPE_CHECKING:
    from webserver.worker import Worker

_MOST_MINTS = 20_000
# After so many notifications others have their turn on the loop.
_AT_ONCE = 200


class Hub(FedProcess):
    """Used on its worker's event loop."""

    _all: "WeakKeyDictionary[Worker, Hub]" = WeakKeyDictionary()

    def __init__(self, worker: "Worker", redis_url: str) -> None:
        super().__init__("subscriptions", redis_url)
        self.worker = worker
        self.newest = 0
        self.root = 0
        self._index: dict[tuple[Kind, Level, bytes], dict[Subscription, None]] = defaultdict(dict)
        self._mints: dict[Pubkey, Account] = {}
        # Called when something that the feed sent may be missing.
        self.on_lost: dict[Any, Callable[[], None]] = {}
        # Called when everything up to a final slot was dealt out.
        self.on_root: dict[Any, Callable[[int], None]] = {}
        self._outcomes = StoredOutcomes(self.in_thread, self._signatures, self._notify_stored)

    @classmethod
    def of(cls, worker: "Worker") -> "Hub":
        """The worker's hub, which the first call starts. On its loop."""
        found = cls._all.get(worker)
        if found is None:
            found = cls._all[worker] = cls(worker, settings.REDIS_URL)
            found.start(found._outcomes.run())
            worker.at_stop.append(found.stop)
        return found

    # --- subscriptions ----------------------------------------------------------------------------

    def open(self, subscription: Subscription, ready: Ready, *, again: bool = False) -> None:
        """The subscription gets what happens from now on; `ready` is called once it does, with None
        where the chain is not followed. `again`: also the slots that the feed still keeps.
        """
        if not self.link.is_fed:
            ready(None)
            return
        subscription.is_wanted = True

        def opened(answer: Answer | None) -> None:
            if answer is None:
                self.close(subscription)
            elif subscription.is_wanted:
                subscription.is_open, subscription.began_at = True, answer.slot
                for want in subscription.wants():
                    self._index[want.kind, want.level, want.key][subscription] = None
                if isinstance(subscription, SignatureSubscription) and not answer.remembers:
                    self._outcomes.look()
            ready(answer)

        needs = subscription.needs()
        if needs:
            # The first is sent those of kept slots, too: the archive may not have them yet.
            is_first = not all(map(self.link.wants, needs))
            self.link.want(needs, lambda _answer: None, again=is_first)
        self.link.want(subscription.wants(), opened, again=again)

    def close(self, subscription: Subscription) -> None:
        """It gets nothing more. May be called twice."""
        if not subscription.is_wanted:
            return
        subscription.is_wanted = False
        self.link.unwant([*subscription.wants(), *subscription.needs()])
        if not subscription.is_open:
            return
        subscription.is_open = False
        for want in subscription.wants():
            place = want.kind, want.level, want.key
            found = self._index.get(place, {})
            found.pop(subscription, None)
            if not found:
                self._index.pop(place, None)

    def _notify_known(self, known: Known) -> None:
        """The transaction was there before its subscription."""
        error = transaction_error_json(known.error) if known.error else None
        self._notify_outcome(known.signature, known.level, known.slot, error, known.index)

    def _notify_stored(self, signature: bytes, slot: int, error: Any, index: int | None) -> None:
        """The feed missed the transaction's slot, and the ledger has it."""
        self._notify_outcome(signature, Level.FINALIZED, slot, error, index)

    def _notify_outcome(
        self, signature: bytes, reached: Level, slot: int, error: Any, index: int | None
    ) -> None:
        for level in Level:
            for each in self._of(Kind.SIGNATURE, level, signature):
                assert isinstance(each, SignatureSubscription)
                if reached >= each.level:
                    self.notify_outcome(each, slot, error, index)

    def notify_outcome(
        self, subscription: SignatureSubscription, slot: int, error: Any, index: int | None
    ) -> None:
        """What became of the subscription's transaction, unless that was said."""
        if not subscription.is_done:
            self._notify_received(subscription, slot)
            subscription.is_done = True
            subscription.send(subscription, subscription.processed(slot, error), slot, index)

    def _signatures(self) -> set[bytes]:
        """Those whose outcome someone waits for."""
        return {key for kind, _, key in self._index if kind is Kind.SIGNATURE}

    @staticmethod
    def _notify_received(subscription: SignatureSubscription, slot: int) -> None:
        """Once, and before the transaction's outcome."""
        if subscription.received and not (subscription.is_received or subscription.is_done):
            subscription.is_received = True
            subscription.send(subscription, subscription.received_in(slot), slot, None)

    # --- what the feed sends ----------------------------------------------------------------------

    def lose(self) -> None:
        self._outcomes.look()
        for lost in list(self.on_lost.values()):
            lost()

    async def deal_one(self, body: Body) -> None:
        match body:
            case Reached():
                await self._reached(body)
            case Opened():
                for each in self._of(Kind.SLOTS):
                    assert isinstance(each, SlotSubscription)
                    self._send(each, each.opened(body), body.slot)
            case Rooted(slot=slot):
                text = b"%d" % slot
                for each in self._of(Kind.ROOTS):
                    self._send(each, text, slot)
            case Moved():
                for each in self._of(Kind.UPDATES):
                    assert isinstance(each, SlotsUpdatesSubscription)
                    self._moved(each, body)
            case Received():
                for signature in body.signatures:
                    for each in self._of(Kind.RECEIVED, key=signature):
                        assert isinstance(each, SignatureSubscription)
                        self._notify_received(each, body.slot)
            case Answer():
                self.newest, self.root = body.slot, body.root
                for reached in list(self.on_root.values()):
                    reached(body.root)
                for known in body.known:
                    self._notify_known(known)

    def _send(self, subscription: Subscription, result: bytes, slot: int) -> None:
        if subscription.memory is not None:
            subscription.memory.put(slot, [(result, None)])
        else:
            subscription.send(subscription, result, slot, None)

    def _moved(self, subscription: SlotsUpdatesSubscription, body: Moved) -> None:
        text, memory = subscription.moved(body), subscription.memory
        if memory is None:
            subscription.send(subscription, text, body.slot, None)
            return
        part = subscription.part_of_move(body)
        if part is not None:
            memory.put(body.slot, [(text, None)], part=part)

    async def _reached(self, body: Reached) -> None:
        content = content_of(body)
        for written in content.accounts:
            if is_mint(written.account):
                self._remember_mint(Pubkey(written.pubkey), written.account)
        found = dict.fromkeys(self._concerned(content))
        if body.ask:  # again, for those with a memory
            found = {each: None for each in found if each.memory is not None}
        if not found:
            return
        await self.load_mints(found, content)
        for number, subscription in enumerate(found, 1):
            await self._notify(subscription, content, is_whole=body.is_whole)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _notify(
        self, subscription: Subscription, content: Content, *, is_whole: bool
    ) -> None:
        if subscription.is_expensive:
            results = await self.in_thread(self.results, subscription, content)
        else:
            results = self.results(subscription, content)
        if subscription.memory is not None:
            part = subscription.part_of(content)
            subscription.memory.put(content.slot, results, part=part, is_whole=is_whole)
            return
        for result, index in results:
            if subscription.is_done or not subscription.is_open:
                return
            if isinstance(subscription, SignatureSubscription):
                self._notify_received(subscription, content.slot)
                subscription.is_done = True
            subscription.send(subscription, result, content.slot, index)

    def results(
        self, subscription: Subscription, content: Content
    ) -> list[tuple[bytes, int | None]]:
        """The subscription's notifications of the content. For any thread."""
        key = bytes(CLOCK)
        clock = next((each.account for each in content.accounts if each.pubkey == key), None)

        def load(pubkey: Pubkey) -> Account | None:
            return clock if pubkey == CLOCK else self._mints.get(pubkey)

        return list(subscription.results(content, load))

    def _concerned(self, content: Content) -> Iterator[Subscription]:
        level = content.level
        for written in content.accounts:
            yield from self._of(Kind.ACCOUNT, level, written.pubkey)
            yield from self._of(Kind.PROGRAM, level, bytes(written.account.owner))
        for ran in content.transactions:
            yield from self._of(Kind.SIGNATURE, level, ran.signature)
            for key in ran.keys:
                yield from self._of(Kind.MENTIONS, level, key)
                yield from self._of(Kind.BLOCK_MENTIONS, level, key)
        if content.transactions:
            yield from self._of(Kind.LOGS, level)
            yield from self._of(Kind.LOGS_WITH_VOTES, level)
            if level is Level.PROCESSED:
                yield from self._of(Kind.VOTES)
        if content.header is not None:
            yield from self._of(Kind.BLOCK, level)
            yield from self._of(Kind.HEADER, level)

    def _of(
        self, kind: Kind, level: Level = Level.PROCESSED, key: bytes = b""
    ) -> list[Subscription]:
        return list(self._index.get((kind, level, key), ()))

    async def load_mints(self, subscriptions: Iterable[Subscription], content: Content) -> None:
        """Reads what showing the accounts needs, once for each mint."""
        wanted = {
            key
            for subscription in subscriptions
            for key in subscription.mints(content)
            if key not in self._mints
        }
        if not wanted:
            return
        here = {Pubkey(each.pubkey): each.account for each in content.accounts}
        found = {key: here[key] for key in wanted if key in here}
        missing = wanted - found.keys()
        if missing:
            with suppress(*AWAY):
                found.update(await self.in_thread(newest_accounts, list(missing)))
        for key, account in found.items():
            self._remember_mint(key, account)

    def _remember_mint(self, key: Pubkey, account: Account) -> None:
        """The newest are kept: the archive has the others."""
        self._mints.pop(key, None)
        self._mints[key] = account
        if len(self._mints) > _MOST_MINTS:
            del self._mints[next(iter(self._mints))]
