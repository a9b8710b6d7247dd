"""The order in which landers claim what waits: by tier, tip and age, and nobody starves."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.conf import settings
from redis.asyncio import Redis

from priority.queue.services.claiming import Queue as LanderQueue
from priority.queue.services.lander_names import LanderName
from priority.queue.store import WAITING, Limits, queue_state
from priority.submissions import (
    ACCEPTED_STREAM,
    FIELD,
    LAMPORTS_FIELD,
    TIER_FIELD,
    Accepted,
    Tip,
    pack,
    unpack,
)
from shared_state.redis_client import client
from tests.patience import PATIENCE_SECONDS

MINIMUM = 1_000_000
# Nothing is aged before 20 s.
PATIENT = Limits(slots=150, slot_ms=400)
WEIGHTS = {"basic": 1, "epic": 8}

pytestmark = pytest.mark.usefixtures("nothing_remembered")


class Queue:
    """What a test enters, at milliseconds after it began, and one lander's claims of it."""

    def __init__(self, consumer: LanderQueue) -> None:
        self.consumer = consumer
        self.began = int(time.time() * 1_000)
        self.read: list[tuple[Accepted, bool]] = []

    def enter(self, at: int, tier: str, lamports: int = MINIMUM, name: str = "") -> None:
        tip = Tip(bytes(32), lamports, 0, 0)
        request_id = name or f"{tier} {lamports}"
        entry = Accepted(
            "transaction", [bytes(64)], [b"\0"], 1.0, None, tier, "edge", request_id, tip
        )
        fields = {FIELD: pack(entry), TIER_FIELD: tier, LAMPORTS_FIELD: lamports}
        client().xadd(ACCEPTED_STREAM, fields, id=f"{self.began + at}-*")

    async def claim(self, limit: int) -> list[Accepted]:
        return [_entry(fields) for _, fields in await self.consumer.claim(limit)]


def _entry(fields: Any) -> Accepted:
    return unpack(fields[fields.index(FIELD.encode()) + 1])


def run(test: Callable[[Queue], Awaitable[None]], limits: Limits = PATIENT) -> None:
    async def main() -> None:
        redis: Redis = Redis.from_url(settings.REDIS_URL)
        name = LanderName(redis, "one")
        await name.take()
        read: list[tuple[Accepted, bool]] = []
        consumer = LanderQueue(
            redis,
            name,
            lambda _, packed, again: read.append((unpack(packed), again)),
            lambda: True,
            limits,
        )
        queue = Queue(consumer)
        queue.read = read
        await consumer.backlog(0.4, WEIGHTS)
        try:
            await test(queue)
        finally:
            await redis.aclose()

    asyncio.run(main())


def test_of_one_tier_the_larger_tip_goes_first() -> None:
    async def test(queue: Queue) -> None:
        for at, lamports in enumerate([1, 4, 2, 8, 1]):
            queue.enter(at, "basic", lamports * MINIMUM)
        entries = await queue.claim(10)
        assert [each.tip.lamports // MINIMUM for each in entries if each.tip] == [8, 4, 2, 1, 1]

    run(test)


def test_a_doubled_tip_is_worth_half_a_slot_and_no_tip_more_than_four_slots() -> None:
    async def test(queue: Queue) -> None:
        queue.enter(0, "basic", name="first")
        queue.enter(190, "basic", 2 * MINIMUM, name="in time")
        queue.enter(210, "basic", 2 * MINIMUM, name="too late")
        queue.enter(1_650, "basic", 10**12, name="far too late")
        names = [each.request_id for each in await queue.claim(10)]
        assert names == ["in time", "first", "too late", "far too late"]

    run(test)


def test_tiers_share_the_claims_by_their_weights() -> None:
    async def test(queue: Queue) -> None:
        for at in range(100):
            queue.enter(at, "basic", 10**9)
            queue.enter(at, "epic")
        claimed = await queue.claim(90)
        assert Counter(each.tier for each in claimed) == {"epic": 80, "basic": 10}
        assert claimed[0].tier == "epic"
        # What one tier leaves is the other's.
        rest = await queue.claim(200)
        assert Counter(each.tier for each in rest) == {"epic": 20, "basic": 90}

    run(test)


def test_a_flood_of_the_highest_tier_holds_the_lowest_back_by_its_share_alone() -> None:
    async def test(queue: Queue) -> None:
        for at in range(300):
            queue.enter(at, "epic", 10**9)
        await queue.claim(20)
        for at in (300, 301, 302):
            queue.enter(at, "basic")
        places = []
        for place in range(1, 41):
            queue.enter(302 + place, "epic", 10**9)
            (entry,) = await queue.claim(1)
            if entry.tier == "basic":
                places.append(place)
        # Its n-th goes within n times all weights over its own, and one claim for each tier.
        assert len(places) == 3
        assert all(place <= 9 * number + 2 for number, place in enumerate(places, 1)), places

    run(test)


def test_what_has_waited_a_third_of_the_limit_goes_before_all_else() -> None:
    async def test(queue: Queue) -> None:
        queue.enter(-40_000, "basic", name="old")
        queue.enter(-39_000, "unknown", name="newer")
        for at in range(50):
            queue.enter(at, "epic", 10**9, name="young")
        names = [each.request_id for each in await queue.claim(5)]
        assert names == ["old", "newer", "young", "young", "young"]

    run(test)


def test_entries_of_a_lost_index_are_claimed_all_the_same() -> None:
    async def test(queue: Queue) -> None:
        for at in range(3):
            queue.enter(at, "basic")
        assert queue_state().unsent == 3
        client().delete(WAITING)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(queue.read) < 3:
            assert time.monotonic() < deadline
            await queue.consumer.take_over()
        assert all(again for _, again in queue.read)

    run(test)


def test_entries_whose_claim_had_no_answer_are_read_all_the_same() -> None:
    """As where Redis hung, and ran the command when the lander no longer waited for it."""

    async def test(queue: Queue) -> None:
        queue.enter(0, "basic", name="lost")
        assert await queue.claim(10)
        await queue.consumer.take_over()
        assert not queue.read, "an answer may be on its way"
        for _ in range(3):
            await queue.consumer.take_over()
        assert [(entry.request_id, again) for entry, again in queue.read] == [("lost", True)]

    run(test)


@pytest.mark.usefixtures("own_redis")
def test_the_queue_is_read_again_once_redis_takes_writes_again() -> None:
    async def test(queue: Queue) -> None:
        queue.enter(0, "basic")
        most: Any = client().config_get("maxmemory")
        client().config_set("maxmemory", 1)
        reading = asyncio.create_task(queue.consumer.run())
        try:
            await asyncio.sleep(0.3)
            assert not reading.done() and not queue.read
        finally:
            client().config_set("maxmemory", most["maxmemory"])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not queue.read:
            assert time.monotonic() < deadline and not reading.done()
            await asyncio.sleep(0.05)
        client().delete(ACCEPTED_STREAM)  # as where it lost what it had
        queue.enter(1, "basic")
        while len(queue.read) < 2:
            assert time.monotonic() < deadline and not reading.done()
            await asyncio.sleep(0.05)
        reading.cancel()

    run(test)


def test_an_entry_that_is_no_submission_has_its_turn_too() -> None:
    async def test(queue: Queue) -> None:
        client().xadd(ACCEPTED_STREAM, {FIELD: b"x"}, id=f"{queue.began}-*")
        client().xadd(ACCEPTED_STREAM, {"other": b""}, id=f"{queue.began}-*")
        queue.enter(1, "epic")
        assert len(await queue.consumer.claim(10)) == 3

    run(test)


def test_the_rate_follows_what_landers_send_while_something_waits() -> None:
    async def test(queue: Queue) -> None:
        for at in range(2_000):
            queue.enter(at // 100, "basic")
        before = queue_state().per_second
        deadline = time.monotonic() + PATIENCE_SECONDS
        reading = asyncio.create_task(queue.consumer.run())
        try:
            # It claims what it may hold unsent, and sends nothing.
            while queue_state().per_second > before // 4:
                assert time.monotonic() < deadline
                await queue.consumer.backlog(0.4, WEIGHTS)
                await asyncio.sleep(0.1)
        finally:
            reading.cancel()
        assert 0 < len(queue.read) < 200
        assert queue_state().unsent == 2_000

    run(test)
