"""The sources that slots come from, and what they are called."""

from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings

from upstream.geyser.written_accounts import stores_untouched
from upstream.node import Node


@dataclass(frozen=True, slots=True)
class Stream:
    """A server of the chain's Geyser stream."""

    name: str
    url: str
    token: str


@cache
def nodes() -> list[Node]:
    """The nodes that missing blocks are asked of, in their order."""
    return [Node(url) for url in settings.FILL_RPC_URLS]


@cache
def upstream_node() -> Node | None:
    """The node that is followed, or that the stream's chain is told by."""
    return Node(settings.UPSTREAM_RPC_URL) if settings.UPSTREAM_RPC_URL else None


def validator_stores_untouched(node: Node | None) -> bool:
    """Whether the stream's validator, of which this is the JSON-RPC, stores accounts that a
    transaction left as they were. Raises NodeError.
    """
    return stores_untouched("" if node is None else node.version())


def streams() -> list[Stream]:
    """The streams that are followed, the preferred one first."""
    urls = settings.UPSTREAM_GEYSER_URL.split(",")
    tokens = settings.UPSTREAM_GEYSER_TOKEN.split(",")
    tokens = tokens if len(tokens) == len(urls) else tokens[:1] * len(urls)
    found: dict[str, Stream] = {}
    for number, (url, token) in enumerate(zip(urls, tokens, strict=True), start=1):
        # An address may hold a key in its path: the name is its host alone.
        name = f"stream of {urlsplit(url).netloc.rpartition('@')[2]}"
        if any(each.name == name for each in found.values()):
            name = f"{name} (address {number})"
        if url:
            found.setdefault(url, Stream(name, url, token))
    return list(found.values())


def stream_name() -> str:
    """The streams, for people."""
    return " and ".join(each.name for each in streams())
