"""The sources that slots come from, and what they are called."""

from functools import cache
from urllib.parse import urlsplit

from django.conf import settings

from upstream.geyser.written_accounts import stores_untouched
from upstream.node import Node


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


def stream_name() -> str:
    """The stream's host: its address may hold a key in its path."""
    return f"stream of {urlsplit(settings.UPSTREAM_GEYSER_URL).netloc}"
