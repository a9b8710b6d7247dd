"""What the chain is followed by and sent to: reachable, of the stored chain, and not behind."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from config.doctor.findings import Finding, error, ok, warning
from ingest import chain_identity
from ingest.sources import Stream, streams
from priority.upstreams.models import Upstream
from priority.upstreams.services.editing import derived_url
from shared_state.pace import slots_in
from upstream.block_engine import GRPC_URLS, engine_at
from upstream.geyser.client import newest_slot
from upstream.geyser.errors import StreamError, StreamRefused
from upstream.node import Node, NodeError
from upstream.submitting import SubmitError

Q = TypeVar("Q")
A = TypeVar("A")

_SECONDS = 5.0
_AT_ONCE = 8
# What is further behind serves blocks and leaders of the past.
_LAG_SECONDS = 60
# Blocks have whole seconds, weighted by stake; a finalized one is some 13 s old.
_AHEAD_SECONDS, _BEHIND_SECONDS = 10, 120


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a node said; `slot` is its newest processed one. By `ahead` seconds the time of its
    newest finalized block is ahead of our clock; None where it does not say.
    """

    name: str
    version: str
    genesis_hash: str
    slot: int
    health: str
    ahead: float | None


def of_nodes() -> Iterator[Finding]:
    """UPSTREAM_RPC_URL and FILL_RPC_URLS, and with them the streams."""
    urls = list(dict.fromkeys(filter(None, [settings.UPSTREAM_RPC_URL, *settings.FILL_RPC_URLS])))
    nodes = [(url, Node(url, timeout_seconds=_SECONDS, connections=1)) for url in urls]
    asked = _at_once(_ask, [node for _, node in nodes])
    slots: list[int] = []
    stored = chain_identity.known()
    genesis = {each.genesis_hash for each in asked if isinstance(each, _Answer)}
    for (url, node), answer in zip(nodes, asked, strict=True):
        setting = "UPSTREAM_RPC_URL" if url == settings.UPSTREAM_RPC_URL else "FILL_RPC_URLS"
        if not isinstance(answer, _Answer):
            yield error(
                f"The node {node.name} of {setting} does not answer: {answer}",
                "Start it, and check its address, its key and firewalls.",
            )
            continue
        slots.append(answer.slot)
        yield from _of_chain(answer, setting, stored)
        yield from _of_time(answer)
        if answer.health != "ok":
            yield warning(
                f"The node {node.name} is not healthy: {answer.health}",
                "Wait until it has caught up.",
            )
    if not stored and len(genesis) > 1:
        yield error(
            "The nodes follow different chains.", "Correct UPSTREAM_RPC_URL or FILL_RPC_URLS."
        )
    yield from _of_streams(slots)
    if slots and max(slots) - min(slots) > slots_in(_LAG_SECONDS):
        behind = ", ".join(
            f"{each.name} ({max(slots) - each.slot:,} slots)"
            for each in asked
            if isinstance(each, _Answer) and max(slots) - each.slot > slots_in(_LAG_SECONDS)
        )
        yield warning(
            f"Behind the other nodes: {behind}.", "Wait until it has caught up, or replace it."
        )


def _of_chain(answer: _Answer, setting: str, stored: str) -> Iterator[Finding]:
    if stored and answer.genesis_hash != stored:
        yield error(
            f"The node {answer.name} of {setting} follows another chain (genesis"
            f" {answer.genesis_hash}) than the database ({stored}).",
            f"Correct {setting}, or DATABASE_URL: one database holds one chain.",
        )
    else:
        yield ok(
            f"The node {answer.name} answers: version {answer.version or 'unknown'}, slot"
            f" {answer.slot:,}" + (", the stored chain." if stored else ".")
        )


def _of_time(answer: _Answer) -> Iterator[Finding]:
    if answer.ahead is None:
        return
    if answer.ahead > _AHEAD_SECONDS:
        yield error(
            f"The newest block of the node {answer.name} is {answer.ahead:.0f} s ahead of this"
            " machine's clock.",
            "Synchronize this machine's clock by NTP. If it is synchronized, the node's chain is"
            " wrong.",
        )
    elif answer.ahead < -_BEHIND_SECONDS:
        yield warning(
            f"The newest finalized block of the node {answer.name} is {-answer.ahead:.0f} s old.",
            "The node is behind, its chain has stopped, or this machine's clock is ahead.",
        )


def _of_streams(slots: list[int]) -> Iterator[Finding]:
    followed = streams() if settings.UPSTREAM_GEYSER_URL else []
    answers = _at_once(_ask_stream, followed)
    for each, found in zip(followed, answers, strict=True):
        if isinstance(found, StreamRefused):
            yield error(
                f"The {each.name} refuses access: {found}",
                "Correct UPSTREAM_GEYSER_TOKEN, or ask its operator for access.",
            )
        elif isinstance(found, Exception):
            yield error(
                f"The {each.name} does not answer: {found}",
                "Start its server, and check UPSTREAM_GEYSER_URL and firewalls.",
            )
        elif found is not None and slots and max(slots) - found > slots_in(_LAG_SECONDS):
            yield warning(
                f"The {each.name} is {max(slots) - found:,} slots behind the node.",
                "Check its validator. A second stream in UPSTREAM_GEYSER_URL covers such delays.",
            )
        else:
            at = "" if found is None else f" at slot {found:,}"
            yield ok(f"The {each.name} answers{at}.")


def of_upstreams() -> Iterator[Finding]:
    """What submissions are sent to: nodes, leaders' nodes and block engines of the database."""
    enabled = list(Upstream.objects.filter(is_enabled=True).order_by("name"))
    if not enabled:
        yield error(
            "No upstream is enabled: accepted submissions expire.", "Enable one in the admin."
        )
    found = _at_once(_ask_upstream, enabled)
    for each, answer in zip(enabled, found, strict=True):
        if isinstance(answer, Exception):
            yield error(
                f"The upstream {each.name} ({each.get_kind_display()}) does not answer: {answer}",
                "Check its URL and key, or disable it in the admin under Upstreams.",
            )
        else:
            yield ok(f"The upstream {each.name} answers{answer}.")


def _ask(node: Node) -> _Answer:
    version, genesis_hash = node.version(), node.genesis_hash()
    slot = int(node.slot("processed"))
    try:
        health = node.health()
    except NodeError as failure:
        health = str(failure)
    return _Answer(node.name, version, genesis_hash, slot, health, _ahead(node))


def _ahead(node: Node) -> float | None:
    try:
        found = node.call("getBlockTime", int(node.slot("finalized")))
    except NodeError:
        return None
    return found - time.time() if type(found) is int else None


def _ask_stream(stream: Stream) -> int | None:
    return newest_slot(stream.url, token=stream.token)


def _ask_upstream(upstream: Upstream) -> str:
    """What it says of itself. Raises NodeError or SubmitError. No text has an address, or what is
    in a file of a keypair.
    """
    try:
        return _said_by(upstream)
    except ValueError:  # BadAddress is one
        raise NodeError(0, "its URL or our keypair is invalid") from None


def _said_by(upstream: Upstream) -> str:
    url = upstream.url or derived_url(upstream.kind)
    if upstream.kind == Upstream.Kind.BLOCK_ENGINE:
        if not url:
            raise NodeError(0, "it does not have a URL")
        return f": {len(asyncio.run(_tip_accounts(url)))} tip accounts"
    if not url:
        raise NodeError(0, "it does not have a URL, and no chain is followed")
    return f": version {Node(url, timeout_seconds=_SECONDS, connections=1).version()}"


async def _tip_accounts(url: str) -> list[Pubkey]:
    file = settings.BLOCK_ENGINE_KEYPAIR_FILE if url.startswith(GRPC_URLS) else ""
    keypair = Keypair.from_json(Path(file).read_text()) if file else None
    engine = engine_at(url, seconds=_SECONDS, keypair=keypair)
    try:
        return await engine.tip_accounts()
    finally:
        await engine.close()


def _at_once(ask: Callable[[Q], A], questions: Iterable[Q]) -> list[A | Exception]:
    """The answers in order; an expected failure is one."""

    def answer(question: Q) -> A | Exception:
        try:
            return ask(question)
        except (NodeError, StreamError, SubmitError, OSError, ValueError) as failure:
            return failure

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(answer, questions))
