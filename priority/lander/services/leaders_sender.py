"""Sends transactions to the leaders by QUIC, on connections opened before their slots."""

import asyncio
import logging
import time
from functools import partial

from priority.lander.chain_view import Chain
from priority.lander.services.active_submissions import ActiveSubmission
from priority.lander.services.senders import Delivery, Done, NotNow
from upstream.leaders import LeaderSchedule
from upstream.node import Node, NodeError
from upstream.tpu import TpuClient
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Sent
from upstream.tpu_socket import Address

log = logging.getLogger(__name__)

# Connections are opened for the current leader and the next ones: some 6 s ahead.
_WARM_LEADERS = 4
# With fewer slots left, the transaction may be too late for the current leader.
_LEFT_SLOTS = 2
# After this long without chain events the node is asked for the slot.
_SILENCE_SECONDS = 5.0
# A node started together with us needs a moment.
_REPORTED_AFTER_SECONDS = 3.0


class LeadersSender:
    """Uses the leader schedule of this node's cluster."""

    def __init__(self, node: Node, client: TpuClient, chain: Chain, *, seconds: float) -> None:
        self._node = node
        self._schedule = LeaderSchedule(node)
        self._client = client
        self._chain = chain
        self._seconds = seconds
        self._refreshing: asyncio.Task[None] | None = None
        self._failing_since: float | None = None
        self._reported = ""
        # The leaders of the slot of the last delivery.
        self._led_slot = -1
        self._led_by: list[tuple[str, Address]] = []

    def deliveries(self, submission: ActiveSubmission) -> list[Delivery]:
        slot = self._chain.slot_now(_now())
        if slot is None:
            raise NotNow("no_slot: the current slot is not known")
        if slot != self._led_slot:
            self._led_by, self._led_slot = self._leaders(slot), slot
        wire = submission.transactions[0].wire
        return [
            Delivery(name, partial(self._start, address, wire)) for name, address in self._led_by
        ]

    def _leaders(self, slot: int) -> list[tuple[str, Address]]:
        """The leaders to send to in this slot, at least one. Raises NotNow."""
        leaders = self._schedule.upcoming(slot, 2)
        if not leaders:
            raise NotNow("no_schedule: the node has not returned the leader schedule yet")
        now_leads, *following = leaders
        if following and following[0].first_slot - slot < _LEFT_SLOTS:
            wanted = leaders
        else:
            # A leader without an address is skipped for the next one.
            wanted = [now_leads] if now_leads.address is not None else following
        found = [
            (str(leader.identity), leader.address)
            for leader in wanted
            if leader.address is not None
        ]
        if not found:
            raise NotNow("no_address: the current leaders publish no address")
        return found

    def ahead(self) -> None:
        """Opens or keeps connections to the next leaders. Called at every slot."""
        slot = self._chain.slot_now(_now())
        if slot is not None:
            leaders = self._schedule.upcoming(slot, _WARM_LEADERS)
            self._client.warm(
                dict.fromkeys(each.address for each in leaders if each.address is not None)
            )

    async def warm(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
        self.ahead()

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()

    def _start(self, address: Address, wire: bytes, done: Done) -> None:
        def answered(found: Sent | TpuError) -> None:
            done(found if isinstance(found, TpuError) else found.opened.value)

        self._client.start(address, wire, answered, timeout_seconds=self._seconds)

    async def _refresh(self) -> None:
        now = _now()
        try:
            if self._chain.silent_for(now) > _SILENCE_SECONDS:
                # No follower: the node knows the slot, and the clock continues from there.
                self._chain.hear(await asyncio.to_thread(self._node.slot, "processed"), _now())
            slot = self._chain.slot_now(now)
            if slot is None or not self._schedule.is_due(slot, time.monotonic()):
                return
            try:
                await asyncio.to_thread(self._schedule.refresh, slot, time.monotonic())
            finally:
                self._led_slot = -1
            self.ahead()
        except NodeError as error:
            self._report(now, str(error))
        else:
            if self._reported:
                log.info("the node returns the leader schedule again")
            self._failing_since, self._reported = None, ""

    def _report(self, now: float, error: str) -> None:
        if self._failing_since is None:
            self._failing_since = now
        if now - self._failing_since >= _REPORTED_AFTER_SECONDS and error != self._reported:
            log.warning("the node does not return the leader schedule: %s", error)
            self._reported = error


def _now() -> float:
    return asyncio.get_running_loop().time()
