"""The enabled upstreams: their rows made into senders, each with a circuit breaker."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, assert_never

from solders.keypair import Keypair

from priority.lander.breakers import Breaker
from priority.lander.chain_view import Chain
from priority.lander.services.engine_sender import EngineSender
from priority.lander.services.engine_tips import FeePayer
from priority.lander.services.leaders_sender import LeadersSender
from priority.lander.services.node_sender import NodeSender
from priority.lander.services.senders import Sender, Unusable
from priority.lander.windows import Window
from priority.upstreams import store
from priority.upstreams.models import Upstream
from priority.upstreams.store import UpstreamRow
from upstream.block_engine import engine_at
from upstream.http.errors import BadAddress
from upstream.node import Node
from upstream.submitting import SubmittingNode
from upstream.tpu import TpuClient

log = logging.getLogger(__name__)

# The breaker opens only after this many different leaders in a row refuse us.
_FAILING_LEADERS = 3
# The leader schedule is fetched in threads, which the end of the process waits for.
_NODE_SECONDS = 4.0


class Defaults(NamedTuple):
    """URLs for upstreams without one of their own, empty for none; and the key that block engines
    are shown by gRPC, None to show none.
    """

    node_url: str
    engine_url: str
    engine_keypair: Keypair | None = None


@dataclass(slots=True, eq=False)
class ActiveUpstream:
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
        """An attempt succeeded."""
        self.failing.clear()
        if self.breaker.succeeded():
            self.is_unwritten = True
            log.warning("upstream %s works again", self.row.name)

    def failed(self, now: float, target: str, reason: str, retry_after: float | None) -> None:
        """An attempt failed, and the upstream is the cause."""
        if self.row.kind == Upstream.Kind.LEADERS and not self.breaker.is_open:
            self.failing.add(target)
            if len(self.failing) < _FAILING_LEADERS:
                return
        was_open = self.breaker.is_open
        if self.breaker.failed(now, reason, retry_after=retry_after):
            self.is_unwritten = True
            pause = self.breaker.open_until - now
            level = logging.INFO if was_open else logging.WARNING
            log.log(
                level, "upstream %s is in cooldown for %.0f s: %s", self.row.name, pause, reason
            )

    def unavailable(self, now: float, target: str, reason: str) -> None:
        """A leader was skipped because connections to it failed recently. Connections may fail
        while no attempt waits for them, so this is the only sign of leaders that refuse us. It
        does not extend the cooldown; only attempts do.
        """
        if not self.breaker.is_open:
            self.failed(now, target, reason, None)


class Upstreams:
    """`active` are those that can be sent to. One per event loop; must be closed."""

    def __init__(self, *, defaults: Defaults, client: TpuClient, fee_payer: FeePayer, chain: Chain):
        self.active: list[ActiveUpstream] = []
        self._defaults = defaults
        self._client = client
        self._fee_payer = fee_payer
        self._chain = chain
        self._left_out: dict[str, str] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def largest_own_tip(self) -> int:
        return max((upstream.row.own_tip_lamports for upstream in self.active), default=0)

    def ahead(self) -> None:
        """Called at every slot: connects to the next leaders."""
        for upstream in self.active:
            if isinstance(upstream.sender, LeadersSender):
                upstream.sender.ahead()

    def unwritten(self) -> list[tuple[int, datetime | None, str]]:
        """Breakers that opened or closed: upstream id, open until, reason."""
        found = []
        loop_now, now = asyncio.get_running_loop().time(), datetime.now(UTC)
        for upstream in self.active:
            if upstream.is_unwritten:
                upstream.is_unwritten = False
                until = None
                if upstream.breaker.is_open:
                    until = now + timedelta(seconds=upstream.breaker.open_until - loop_now)
                found.append((upstream.row.id, until, upstream.breaker.reason))
        return found

    def write_again(self, changes: list[tuple[int, datetime | None, str]]) -> None:
        """Marks changes that could not be written as unwritten again."""
        ids = {upstream_id for upstream_id, _, _ in changes}
        for upstream in self.active:
            upstream.is_unwritten |= upstream.row.id in ids

    def take(self, rows: list[UpstreamRow]) -> None:
        """The rows of now, read after what `unwritten` gave was written."""
        before = {upstream.row.id: upstream for upstream in self.active}
        active: list[ActiveUpstream] = []
        left_out: dict[str, str] = {}
        for row in rows:
            upstream = before.get(row.id)
            if upstream is None or _is_changed(upstream.row, row):
                try:
                    upstream = ActiveUpstream(row, self._sender(row))
                except (Unusable, BadAddress) as error:
                    left_out[row.name] = str(error)
                    continue
            else:
                del before[row.id]
                upstream.row = row
                if (
                    upstream.breaker.is_open
                    and not upstream.is_unwritten
                    and row.broken_until is None
                ):
                    upstream.breaker.reset()  # staff or another lander reset it
                    log.info("upstream %s is tried again: its breaker was reset", row.name)
            active.append(upstream)
        for name, why in left_out.items():
            if self._left_out.get(name) != why:
                log.warning("upstream %s is left out: %s", name, why)
        self._left_out = left_out
        self.active = active
        for upstream in before.values():
            task = asyncio.get_running_loop().create_task(self._close_later(upstream))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def warm(self) -> None:
        """Connections are open before anything is to be sent."""
        await asyncio.gather(*(upstream.sender.warm() for upstream in self.active))

    async def close(self) -> None:
        for task in self._closing:
            task.cancel()
        for upstream in self.active:
            await upstream.sender.close()
        await self._client.close()

    async def _close_later(self, upstream: ActiveUpstream) -> None:
        await asyncio.sleep(upstream.seconds)  # for answers still to come
        await upstream.sender.close()

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
                    engine_at(url, seconds=seconds, keypair=self._defaults.engine_keypair),
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
    """Writes breaker changes, then reads the rows. Runs in the database thread."""
    for upstream_id, until, reason in changes:
        store.mark_broken(upstream_id, until=until, reason=reason, now=datetime.now(UTC))
    return store.enabled_upstreams()


def _is_changed(old: UpstreamRow, new: UpstreamRow) -> bool:
    return (old.kind, old.url, old.timeout_ms, old.own_tip_lamports, old.name) != (
        new.kind,
        new.url,
        new.timeout_ms,
        new.own_tip_lamports,
        new.name,
    )
