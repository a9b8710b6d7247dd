"""The upstreams of now: rows of the admin made into senders, each with its circuit breaker."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, assert_never

from priority.lander.breakers import Breaker
from priority.lander.chain_view import Chain
from priority.lander.engine_sender import EngineSender
from priority.lander.engine_tips import FeePayer
from priority.lander.leaders_sender import LeadersSender
from priority.lander.node_sender import NodeSender
from priority.lander.senders import Sender, Unusable
from priority.lander.windows import Window
from priority.models import Upstream
from priority.store import upstreams as store
from priority.store.upstreams import UpstreamRow
from upstream.block_engine import BlockEngine
from upstream.http_posts import BadAddress
from upstream.node import Node
from upstream.submitting import SubmittingNode
from upstream.tpu import TpuClient

log = logging.getLogger(__name__)

# One leader that does not take us says little: so many of them, one after the other, do.
_FAILING_LEADERS = 3
# A node that tells the leaders is asked in threads, which the end of the process waits for.
_NODE_SECONDS = 4.0


class Defaults(NamedTuple):
    """Where an upstream without an address of its own leads; empty: nowhere."""

    node_url: str
    engine_url: str


@dataclass(slots=True, eq=False)
class Way:
    """An upstream that can be sent to."""

    row: UpstreamRow
    sender: Sender
    breaker: Breaker = field(default_factory=Breaker)
    failing: set[str] = field(default_factory=set)
    window: Window = field(default_factory=Window)
    is_unwritten: bool = False  # the breaker's state is not in the table yet

    @property
    def seconds(self) -> float:
        return self.row.timeout_ms / 1_000

    def succeeded(self) -> None:
        """A try got through."""
        self.failing.clear()
        if self.breaker.succeeded():
            self.is_unwritten = True
            log.warning("upstream %s works again", self.row.name)

    def failed(self, now: float, target: str, reason: str, retry_after: float | None) -> None:
        """A try failed, and it was the upstream's fault."""
        if self.row.kind == Upstream.Kind.LEADERS and not self.breaker.is_open:
            self.failing.add(target)
            if len(self.failing) < _FAILING_LEADERS:
                return
        was_open = self.breaker.is_open
        if self.breaker.failed(now, reason, retry_after=retry_after):
            self.is_unwritten = True
            pause = self.breaker.open_until - now
            level = logging.INFO if was_open else logging.WARNING
            log.log(level, "upstream %s rests for %.0f s: %s", self.row.name, pause, reason)

    def rests(self, now: float, target: str, reason: str) -> None:
        """A leader was not tried: connections to it failed a moment ago. Nobody may be waiting for
        one when it fails, so that this is all that tells of leaders that do not take us. It makes
        no pause longer: that is for tries.
        """
        if not self.breaker.is_open:
            self.failed(now, target, reason, None)


class Upstreams:
    """`ways` are those that can be sent to. For one event loop, and to be closed."""

    def __init__(self, *, defaults: Defaults, client: TpuClient, fee_payer: FeePayer, chain: Chain):
        self.ways: list[Way] = []
        self._defaults = defaults
        self._client = client
        self._fee_payer = fee_payer
        self._chain = chain
        self._left_out: dict[str, str] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def largest_own_tip(self) -> int:
        return max((way.row.own_tip_lamports for way in self.ways), default=0)

    def ahead(self) -> None:
        """Called at every slot."""
        for way in self.ways:
            if isinstance(way.sender, LeadersSender):
                way.sender.ahead()

    def unwritten(self) -> list[tuple[int, datetime | None, str]]:
        """Breakers that opened or closed: the upstream, until when, and why."""
        found = []
        loop_now, now = asyncio.get_running_loop().time(), datetime.now(UTC)
        for way in self.ways:
            if way.is_unwritten:
                way.is_unwritten = False
                until = None
                if way.breaker.is_open:
                    until = now + timedelta(seconds=way.breaker.open_until - loop_now)
                found.append((way.row.id, until, way.breaker.reason))
        return found

    def write_again(self, changes: list[tuple[int, datetime | None, str]]) -> None:
        """What `unwritten` gave could not be written."""
        ids = {upstream_id for upstream_id, _, _ in changes}
        for way in self.ways:
            way.is_unwritten |= way.row.id in ids

    def take(self, rows: list[UpstreamRow]) -> None:
        """The rows of now, read after what `unwritten` gave was written."""
        before = {way.row.id: way for way in self.ways}
        ways: list[Way] = []
        left_out: dict[str, str] = {}
        for row in rows:
            way = before.get(row.id)
            if way is None or _leads_elsewhere(way.row, row):
                try:
                    way = Way(row, self._sender(row))
                except (Unusable, BadAddress) as error:
                    left_out[row.name] = str(error)
                    continue
            else:
                del before[row.id]
                way.row = row
                if way.breaker.is_open and not way.is_unwritten and row.broken_until is None:
                    way.breaker.reset()  # somebody cleared it, or another lander got through
                    log.info("upstream %s is attempt again: its breaker was reset", row.name)
            ways.append(way)
        for name, why in left_out.items():
            if self._left_out.get(name) != why:
                log.warning("upstream %s is left out: %s", name, why)
        self._left_out = left_out
        self.ways = ways
        for way in before.values():
            task = asyncio.get_running_loop().create_task(self._close_later(way))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def warm(self) -> None:
        """Connections are open before anything is to be sent."""
        await asyncio.gather(*(way.sender.warm() for way in self.ways))

    async def close(self) -> None:
        for task in self._closing:
            task.cancel()
        for way in self.ways:
            await way.sender.close()
        await self._client.close()

    async def _close_later(self, way: Way) -> None:
        await asyncio.sleep(way.seconds)  # what is under way may still be answered
        await way.sender.close()

    def _sender(self, row: UpstreamRow) -> Sender:
        if row.kind not in Upstream.Kind.values:
            raise Unusable(f"this release has no upstreams of the kind {row.kind}")
        seconds = row.timeout_ms / 1_000
        match kind := Upstream.Kind(row.kind):
            case Upstream.Kind.BLOCK_ENGINE:
                url = row.url or self._defaults.engine_url
                if not url:
                    raise Unusable("it has no URL, and the followed chain has no block engine")
                return EngineSender(
                    row.name,
                    BlockEngine(url, seconds=seconds),
                    tip_lamports=row.own_tip_lamports,
                    fee_payer=self._fee_payer,
                    chain=self._chain,
                )
            case Upstream.Kind.NODE:
                return NodeSender(SubmittingNode(self._node_url(row), seconds=seconds))
            case Upstream.Kind.LEADERS:
                url = self._node_url(row)
                if not url.startswith(("http://", "https://")):
                    raise Unusable(f"{url}: expected http://host or https://host")
                node = Node(url, timeout_seconds=_NODE_SECONDS)
                return LeadersSender(node, self._client, self._chain, seconds=seconds)
            case _:
                assert_never(kind)  # mypy: a new kind needs a case above that returns its Sender

    def _node_url(self, row: UpstreamRow) -> str:
        url = row.url or self._defaults.node_url
        if not url:
            raise Unusable("it has no URL, and no chain is followed")
        return url


def write_breakers(changes: list[tuple[int, datetime | None, str]]) -> list[UpstreamRow]:
    """Writes them, then reads the rows: in a thread of the database's."""
    for upstream_id, until, reason in changes:
        store.mark_broken(upstream_id, until=until, reason=reason, now=datetime.now(UTC))
    return store.enabled_upstreams()


def _leads_elsewhere(old: UpstreamRow, new: UpstreamRow) -> bool:
    return (old.kind, old.url, old.timeout_ms, old.own_tip_lamports, old.name) != (
        new.kind,
        new.url,
        new.timeout_ms,
        new.own_tip_lamports,
        new.name,
    )
