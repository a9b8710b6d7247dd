"""The lander: sends accepted submissions, tracks them until they land, updates their rows."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import redis
from solders.keypair import Keypair

from access.services.tiers import landing_weights
from priority.lander.chain_view import Chain
from priority.lander.services.active_submissions import ActiveSubmission
from priority.lander.services.chain_reader import ChainReader
from priority.lander.services.engine_tips import FeePayer
from priority.lander.services.sending import FanOut
from priority.lander.services.tracking import ActiveSubmissions
from priority.lander.services.upstreams import Defaults, Upstreams, write_breakers
from priority.lander.services.writer import Writer
from priority.lander.store.submissions import are_settled
from priority.queue.services.claiming import Queue
from priority.queue.services.lander_names import LanderName
from priority.queue.store import DEFAULT_LIMITS, Limits
from priority.submissions import pending_key
from priority.upstreams.store import UpstreamRow
from shared_state.database_threads import DatabaseThreads
from shared_state.outages import AWAY
from shared_state.redis_client import async_client_of
from upstream.node import Node, NodeError
from upstream.tpu import TpuClient

log = logging.getLogger(__name__)

_NAME_SECONDS = 0.5
_SWEEP_SECONDS = 0.25
_BETWEEN_SWEEPS_SECONDS = 0.01
# While there are no submissions.
_IDLE_SECONDS = 1.0
_ROWS_SECONDS = 1.5
_FEE_PAYER_SECONDS = 10.0
_REDIS_SECONDS = 5.0
_READY_SECONDS = 2.0
_END_SECONDS = 3.0
_NODE_SECONDS = 4.0
# After this long without a new block the node is asked how high the chain is.
_SILENCE_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class LanderConfig:
    """`identity` is the keypair shown to leaders, `payer` pays our tips for block engines; with
    `with_faucet` localnet's faucet funds it.
    """

    name: str
    redis_url: str
    identity: Keypair
    payer: Keypair
    defaults: Defaults
    nonce_patience_seconds: int
    with_faucet: bool
    limits: Limits = DEFAULT_LIMITS
    most_submissions: int = 30_000


class Lander:
    """One per event loop: `run` until `stop`."""

    def __init__(self, config: LanderConfig) -> None:
        self._config = config
        # Blocking reads take up to a second.
        self._client = async_client_of(config.redis_url, _REDIS_SECONDS)
        self._database = DatabaseThreads("database", 1)
        self._stopping = asyncio.Event()
        self._chain = Chain(config.limits.slot_ms / 1_000)
        self._fee_payer = FeePayer(config.payer)
        self._upstreams = Upstreams(
            defaults=config.defaults,
            client=TpuClient(config.identity),
            fee_payer=self._fee_payer,
            chain=self._chain,
        )
        self._name = LanderName(self._client, config.name)
        self._writer = Writer(self._database, self._written)
        self._fan_out = FanOut(
            self._upstreams, self._chain, self._writer.changed, self._begun, self._answered
        )
        self._submissions = ActiveSubmissions(
            self._chain,
            self._fan_out,
            self._writer,
            nonce_patience_seconds=config.nonce_patience_seconds,
            most=config.most_submissions,
        )
        self._chain_reader = ChainReader(self._client, self._chain, self._submissions.hear)
        self._queue = Queue(
            self._client,
            self._name,
            self._take,
            self._submissions.has_room,
            config.limits,
        )
        self._something = asyncio.Event()
        self._weights: dict[str, int] = {}
        self._sent_before = (0, 0.0)
        self._checked_fee_payer_at = 0.0

    @property
    def fee_payer(self) -> FeePayer:
        """The account that pays our tips for block engines."""
        return self._fee_payer

    def stop(self) -> None:
        """Ends `run`; the next lander takes over what is unfinished."""
        self._stopping.set()

    async def run(self) -> None:
        """Runs until `stop`. Raises errors that a retry cannot fix."""
        await self._begin()
        works: list[Coroutine[Any, Any, None]] = [
            self._chain_reader.run(),
            self._every(_ROWS_SECONDS, self._refresh),
            self._while_needed(_NAME_SECONDS, self._keep_name),
            self._while_needed(_SWEEP_SECONDS, self._sweep),
            self._queue.keep_letting_go(),
            self._queue.keep_reporting(),
            self._while_needed(_NAME_SECONDS, self._check_fee_payer),
            self._while_needed(_ROWS_SECONDS, self._ask_heights),
        ]
        writing = asyncio.create_task(self._writer.run())
        tasks = [writing, *(asyncio.create_task(work) for work in works)]
        reading = asyncio.create_task(self._read())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, reading, stopping], return_when=asyncio.FIRST_COMPLETED)
            await _ended(reading)
            self._submissions.stop()
            await self._fan_out.close()
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
            self._database.close()

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
        """Reads the queue once upstreams and the chain are known."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._chain_reader.began.wait()
                while not self._upstreams.active:
                    await asyncio.sleep(0.02)
        await self._queue.run()

    async def _finish(self, writing: "asyncio.Task[None]") -> None:
        """Writes what is known, within _END_SECONDS."""
        self._writer.stop()
        await asyncio.wait([writing], timeout=_END_SECONDS)
        with contextlib.suppress(redis.RedisError):
            await self._queue.let_go()

    async def _every(self, seconds: float, work: Any) -> None:
        """Calls it at this interval, through outages."""
        while True:
            await self._once(work)
            await asyncio.sleep(seconds)

    async def _while_needed(self, seconds: float, work: Any) -> None:
        """The same, less often without submissions, and at once for a new one."""
        while True:
            await self._once(work)
            if self._submissions:
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
        self._submissions.take(entry_id, packed, again)
        self._something.set()

    async def _refresh(self) -> None:
        unwritten = self._upstreams.unwritten()
        try:
            rows, self._weights = await self._database.run(_read_rows, unwritten)
        except AWAY:
            self._upstreams.write_again(unwritten)
            raise
        self._upstreams.take(rows)
        await self._upstreams.warm()

    async def _keep_name(self) -> None:
        if not await self._name.keep():
            log.warning("another lander took the name %s", self._name.text)
            log.info("lands as %s", await self._name.take())
        await self._queue.take_over()
        await self._name.publish(
            {
                "inFlight": len(self._submissions),
                "waitingRows": self._writer.waiting,
                "waitingEntries": await self._queue.backlog(
                    self._chain.slot_seconds, self._weights
                ),
                "sentPerSecond": self._rate(),
                "lastError": self._fan_out.last_error[:300],
                "at": time.time(),
                "slot": self._chain.slot,
                "upstreams": {
                    upstream.row.name: upstream.breaker.reason if upstream.breaker.is_open else "ok"
                    for upstream in self._upstreams.active
                },
            }
        )

    def _rate(self) -> float:
        before, at = self._sent_before
        now = time.monotonic()
        self._sent_before = (self._fan_out.sent, now)
        return round((self._fan_out.sent - before) / (now - at), 1) if at else 0.0

    async def _sweep(self) -> None:
        unknown = self._submissions.sweep(datetime.now(UTC))
        if unknown:
            await self._chain_reader.blockhashes(unknown)
            self._submissions.sweep(datetime.now(UTC))
        while self._submissions.finish_over(datetime.now(UTC)):
            await asyncio.sleep(_BETWEEN_SWEEPS_SECONDS)
        if names := self._submissions.crowded_out[:]:
            await self._client.delete(*map(pending_key, names))
            del self._submissions.crowded_out[: len(names)]
        old = self._submissions.to_look_up(time.monotonic())
        if old:
            self._submissions.looked_up(old, await self._database.run(are_settled, old))

    async def _ask_heights(self) -> None:
        """Asks the node for the chain's height while the follower is silent: blockhashes expire all
        the same.
        """
        url, loop = self._config.defaults.node_url, asyncio.get_running_loop()
        if not url or self._chain.height_unheard_for(loop.time()) < _SILENCE_SECONDS:
            return
        node = Node(url, timeout_seconds=_NODE_SECONDS, connections=1)
        try:
            newest, confirmed = await asyncio.to_thread(
                lambda: (node.block_height("processed"), node.block_height("confirmed"))
            )
        except NodeError as error:
            log.debug("the chain's height is not known: %s", error)
        else:
            self._chain.hear_heights(newest, confirmed, loop.time())

    async def _check_fee_payer(self) -> None:
        url, fee_payer = self._config.defaults.node_url, self._fee_payer
        tip, now = self._upstreams.largest_own_tip, time.monotonic()
        urgent = fee_payer.lamports is None or fee_payer.is_low
        if url and tip and (urgent or now - self._checked_fee_payer_at >= _FEE_PAYER_SECONDS):
            self._checked_fee_payer_at = now
            await asyncio.to_thread(
                self._fee_payer.look,
                Node(url, timeout_seconds=_NODE_SECONDS, connections=1),
                tip_lamports=tip,
                with_faucet=self._config.with_faucet,
            )

    def _begun(self, submission: ActiveSubmission) -> None:
        self._queue.begun(submission.entry_id)

    def _answered(self, submission: ActiveSubmission) -> None:
        self._queue.answered(submission.entry_id)

    def _written(self, submission: ActiveSubmission) -> None:
        if self._submissions.written(submission):
            self._queue.done(submission.entry_id)


def _read_rows(
    breakers: list[tuple[int, datetime | None, str]],
) -> tuple[list[UpstreamRow], dict[str, int]]:
    """The upstreams, and the tiers' weights."""
    return write_breakers(breakers), landing_weights()


async def _ended(*tasks: "asyncio.Task[Any]") -> None:
    """Cancels the tasks and waits for them. Once is not enough: redis-py may swallow a cancellation
    when an answer arrives at the same moment.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.1)
