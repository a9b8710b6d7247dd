"""The lander: brings out what was accepted, sees it land, and keeps its rows true."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import redis
from django.db import connection
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from solders.keypair import Keypair

from access.services.tiers import landing_weights
from priority.services.landing.chain_view import Chain
from priority.services.landing.consuming import Consumer
from priority.services.landing.flights import Flight
from priority.services.landing.following import Flights
from priority.services.landing.names import Name
from priority.services.landing.own_tips import Purse
from priority.services.landing.racing import Race
from priority.services.landing.upstreams import Defaults, Upstreams, write_breakers
from priority.services.landing.watching import Watcher
from priority.services.landing.writing import Writer
from priority.store.queueing import DEFAULT_LIMITS, Limits
from priority.store.submissions import settled_among
from priority.store.upstreams import UpstreamRow
from shared_state.outages import AWAY
from upstream.node import Node
from upstream.tpu import TpuClient

log = logging.getLogger(__name__)

_MOST_IN_FLIGHT = 30_000
_NAME_SECONDS = 0.5
_SWEEP_SECONDS = 0.25
_BETWEEN_SWEEPS_SECONDS = 0.01
# Without submissions.
_IDLE_SECONDS = 1.0
_ROWS_SECONDS = 1.5
_PURSE_SECONDS = 10.0
_REDIS_SECONDS = 5.0
_READY_SECONDS = 2.0
_END_SECONDS = 3.0
_NODE_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Orders:
    """What a lander needs to know. `identity` is the one that leaders see, `payer` pays our tips
    for block engines, which `with_faucet` a localnet's node gives to.
    """

    name: str
    redis_url: str
    identity: Keypair
    payer: Keypair
    defaults: Defaults
    nonce_patience_seconds: int
    with_faucet: bool
    limits: Limits = DEFAULT_LIMITS


class Lander:
    """For one event loop: `run` until `stop`."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        # Reads wait for up to a second in their calls.
        self._client: Redis = Redis.from_url(
            orders.redis_url,
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._database = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._stopping = asyncio.Event()
        self._chain = Chain()
        self._purse = Purse(orders.payer)
        self._upstreams = Upstreams(
            defaults=orders.defaults,
            client=TpuClient(orders.identity),
            purse=self._purse,
            chain=self._chain,
        )
        self._name = Name(self._client, orders.name)
        self._writer = Writer(self._database, self._written)
        self._race = Race(self._upstreams, self._chain, self._writer.changed, self._begun)
        self._flights = Flights(
            self._chain,
            self._race,
            self._writer,
            nonce_patience_seconds=orders.nonce_patience_seconds,
        )
        self._watcher = Watcher(self._client, self._chain, self._flights.hear)
        self._consumer = Consumer(
            self._client,
            self._name,
            self._take,
            lambda: len(self._flights) < _MOST_IN_FLIGHT,
            orders.limits,
        )
        self._something = asyncio.Event()
        self._weights: dict[str, int] = {}
        self._sent_before = (0, 0.0)
        self._looked_into_purse_at = 0.0

    @property
    def purse(self) -> Purse:
        """What pays our tips for block engines."""
        return self._purse

    def stop(self) -> None:
        """What is in flight is the next lander's."""
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop`. Raises what no patience mends."""
        await self._begin()
        works: list[Coroutine[Any, Any, None]] = [
            self._watcher.run(),
            self._every(_ROWS_SECONDS, self._refresh),
            self._while_needed(_NAME_SECONDS, self._keep_name),
            self._while_needed(_SWEEP_SECONDS, self._sweep),
            self._consumer.keep_letting_go(),
            self._while_needed(_NAME_SECONDS, self._look_into_purse),
        ]
        writing = asyncio.create_task(self._writer.run())
        tasks = [writing, *(asyncio.create_task(work) for work in works)]
        reading = asyncio.create_task(self._read())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, reading, stopping], return_when=asyncio.FIRST_COMPLETED)
            await _ended(reading)
            self._flights.stop()
            await self._race.close()
            if stopping.done():
                await self._finish(writing)
            for task in [*tasks, reading]:
                if task.done() and not task.cancelled() and task.exception() is not None:
                    task.result()
        finally:
            await _ended(*tasks, reading, stopping)
            await self._upstreams.close()
            with contextlib.suppress(redis.RedisError):
                await self._name.let_go()
            await self._client.aclose()
            self._database.submit(_close_connection)
            self._database.shutdown()

    async def _begin(self) -> None:
        said = False
        while not self._stopping.is_set():
            try:
                name = await self._name.take()
                log.info("lands as %s", name)
                return
            except redis.RedisError as error:
                if not said:
                    log.warning("waiting for Redis: %s", error)
                said = True
                await asyncio.sleep(_NAME_SECONDS)

    async def _read(self) -> None:
        """After there is somewhere to send to, and something is known of the chain."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._watcher.began.wait()
                while not self._upstreams.ways:
                    await asyncio.sleep(0.02)
        await self._consumer.run()

    async def _finish(self, writing: "asyncio.Task[None]") -> None:
        """What is known is written, if that can be done in a moment."""
        self._writer.stop()
        await asyncio.wait([writing], timeout=_END_SECONDS)
        with contextlib.suppress(redis.RedisError):
            await self._consumer.let_go()

    async def _every(self, seconds: float, work: Any) -> None:
        """Calls it again and again, through outages."""
        while True:
            await self._once(work)
            await asyncio.sleep(seconds)

    async def _while_needed(self, seconds: float, work: Any) -> None:
        """The same, less often without submissions, and at once when something comes."""
        while True:
            await self._once(work)
            if self._flights:
                await asyncio.sleep(seconds)
                continue
            self._something.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_SECONDS):
                    await self._something.wait()

    async def _once(self, work: Any) -> None:
        try:
            await work()
        except AWAY as error:
            log.debug("%s waits: %s", work.__name__, error)

    def _take(self, entry_id: bytes, packed: bytes, again: bool) -> None:
        self._flights.take(entry_id, packed, again)
        self._something.set()

    async def _refresh(self) -> None:
        loop = asyncio.get_running_loop()
        unwritten = self._upstreams.unwritten()
        try:
            rows, self._weights = await loop.run_in_executor(self._database, _read_rows, unwritten)
        except AWAY:
            self._upstreams.write_again(unwritten)
            raise
        self._upstreams.take(rows)
        await self._upstreams.warm()

    async def _keep_name(self) -> None:
        if not await self._name.keep():
            log.warning("another lander took the name %s", self._name.text)
            log.info("lands as %s", await self._name.take())
        await self._consumer.take_over()
        await self._name.publish(
            {
                "inFlight": len(self._flights),
                "waitingRows": self._writer.waiting,
                "waitingEntries": await self._consumer.backlog(
                    self._chain.slot_seconds, self._weights
                ),
                "sentPerSecond": self._rate(),
                "lastError": self._race.last_error[:300],
                "at": time.time(),
                "slot": self._chain.slot,
                "upstreams": {
                    way.row.name: way.breaker.reason if way.breaker.is_open else "ok"
                    for way in self._upstreams.ways
                },
            }
        )

    def _rate(self) -> float:
        before, at = self._sent_before
        now = time.monotonic()
        self._sent_before = (self._race.sent, now)
        return round((self._race.sent - before) / (now - at), 1) if at else 0.0

    async def _sweep(self) -> None:
        lacking = self._flights.sweep(datetime.now(UTC))
        if lacking:
            await self._watcher.blockhashes(lacking)
            self._flights.sweep(datetime.now(UTC))
        while self._flights.let_go(datetime.now(UTC)):
            await asyncio.sleep(_BETWEEN_SWEEPS_SECONDS)
        old = self._flights.to_look_up(time.monotonic())
        if old:
            loop = asyncio.get_running_loop()
            self._flights.settle(await loop.run_in_executor(self._database, _settled_among, old))

    async def _look_into_purse(self) -> None:
        url, purse = self._orders.defaults.node_url, self._purse
        tip, now = self._upstreams.largest_own_tip, time.monotonic()
        urgent = purse.lamports is None or purse.is_low
        if url and tip and (urgent or now - self._looked_into_purse_at >= _PURSE_SECONDS):
            self._looked_into_purse_at = now
            await asyncio.to_thread(
                self._purse.look,
                Node(url, timeout_seconds=_NODE_SECONDS, connections=1),
                tip_lamports=tip,
                with_faucet=self._orders.with_faucet,
            )

    def _begun(self, flight: Flight) -> None:
        self._consumer.begun(flight.entry_id)

    def _written(self, flight: Flight) -> None:
        if self._flights.written(flight):
            self._consumer.done(flight.entry_id)


def _close_connection() -> None:
    connection.close()  # this thread's own


def _read_rows(
    breakers: list[tuple[int, datetime | None, str]],
) -> tuple[list[UpstreamRow], dict[str, int]]:
    """The upstreams, and the tiers' weights."""
    try:
        return write_breakers(breakers), landing_weights()
    except AWAY:
        connection.close()
        raise


def _settled_among(ids: list[int]) -> set[int]:
    try:
        return settled_among(ids)
    except AWAY:
        connection.close()
        raise


async def _ended(*tasks: "asyncio.Task[Any]") -> None:
    """Cancels them, and waits until they are through with it. Once is not enough: redis-py may take
    a cancellation for its own when an answer comes in the same moment.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.1)
