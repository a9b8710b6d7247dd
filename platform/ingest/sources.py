"""The sources of slots: their names, and the lock of the one process that follows a source."""

import time
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from chain.signed import Signatures
from columns.advisory_locks import AdvisoryLock, HeldLock
from upstream.geyser.updates import stores_untouched
from upstream.node import Node

_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Stream:
    """A server of the chain's Geyser stream."""

    name: str
    url: str
    token: str


_node = cache(Node)


def nodes() -> list[Node]:
    """The nodes that missing blocks are fetched from, in their order."""
    return [_node(url) for url in settings.FILL_RPC_URLS]


def upstream_node() -> Node | None:
    """The node that is followed, or that identifies the stream's chain."""
    return _node(settings.UPSTREAM_RPC_URL) if settings.UPSTREAM_RPC_URL else None


def own_localnet(node: Node) -> Path | None:
    """The folder of localnet if the node is where this run directory's localnet listens."""
    address = f"{settings.LOCALNET_HOST}:{settings.LOCALNET_RPC_PORT}"
    is_own = settings.LOCALNET and node.name == address
    return Path(settings.LOCALNET_DIR) if is_own else None


def validator_stores_untouched(node: Node | None) -> bool:
    """True if the stream's validator, whose JSON-RPC this is, stores accounts that a
    transaction left unchanged. Raises NodeError.
    """
    return stores_untouched("" if node is None else node.version())


def streams() -> list[Stream]:
    """The followed streams, the preferred one first."""
    urls = settings.UPSTREAM_GEYSER_URL.split(",")
    tokens = settings.UPSTREAM_GEYSER_TOKEN.split(",")
    tokens = tokens if len(tokens) == len(urls) else tokens[:1] * len(urls)
    found: dict[str, Stream] = {}
    for number, (url, token) in enumerate(zip(urls, tokens, strict=True), start=1):
        # An address may hold a key in its path: only the host goes into the name.
        name = f"stream of {urlsplit(url).netloc.rpartition('@')[2]}"
        if any(each.name == name for each in found.values()):
            name = f"{name} (address {number})"
        if url:
            found.setdefault(url, Stream(name, url, token))
    return list(found.values())


def stream_name() -> str:
    """The streams' names, for display."""
    return " and ".join(each.name for each in streams())


def signatures_of_history() -> Signatures:
    """What is required of blocks from files and nodes."""
    return Signatures.KEEP if settings.LEDGER_KEEP_UNSIGNED else Signatures.REFUSE


def signatures_of_streams() -> Signatures:
    """Of slots from a stream: a validator has verified them."""
    return signatures_of_history() if settings.VERIFY_STREAM_SIGNATURES else Signatures.UNVERIFIED


class SecondFollower(Exception):
    """Another process began to follow the source while our connection was lost."""


class SourceLock:
    """One follower per source: a database lock, held by a connection of its own. Call `take` once,
    then `keep` before each piece of work.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._lock = HeldLock(AdvisoryLock.FOLLOWER, zlib.crc32(source.encode()) - 2**31)
        self._looked_at = 0.0

    def take(self) -> bool:
        """True if the lock is ours now. Raises psycopg's errors while the database is away."""
        return self._lock.take()

    def keep(self) -> None:
        """Checks or retakes the lock. Raises SecondFollower, and psycopg's errors."""
        if time.monotonic() - self._looked_at > _LOOK_SECONDS:
            self._lock.check()
            self._looked_at = time.monotonic()
        if not self._lock.take():
            raise SecondFollower(f"another process follows the {self._source} now")

    def let_go(self) -> None:
        """Another one may take it from now on."""
        self._lock.release()
