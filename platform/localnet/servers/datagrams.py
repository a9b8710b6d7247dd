"""The ports of plain UDP that a validator names in the cluster's list: votes, and the cluster's."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from solders.signature import Signature

from chain.transactions import BadTransaction
from localnet.ledger import QueueFull
from localnet.submissions import SignatureFailure, read_transaction
from localnet.votes import is_vote


class Ledger(Protocol):
    """What a vote is handed to."""

    def submit(self, wire: bytes) -> Signature: ...


@dataclass(frozen=True, slots=True)
class DatagramPorts:
    """Ports that the system chose: `votes` takes vote transactions, one in a packet; `cluster` is
    where validators send each other gossip, shreds and repairs. There are no others here: what
    comes there is dropped.
    """

    votes: int
    cluster: int


@asynccontextmanager
async def serve(ledger: Ledger, host: str) -> AsyncIterator[DatagramPorts]:
    """Both ports while inside; OSError where the host has no address here."""
    loop = asyncio.get_running_loop()
    votes, _ = await loop.create_datagram_endpoint(lambda: _Votes(ledger), local_addr=(host, 0))
    with contextlib.closing(votes):
        cluster, _ = await loop.create_datagram_endpoint(
            asyncio.DatagramProtocol, local_addr=(host, 0)
        )
        with contextlib.closing(cluster):
            yield DatagramPorts(_port(votes), _port(cluster))


def _port(transport: asyncio.DatagramTransport) -> int:
    port: int = transport.get_extra_info("sockname")[1]
    return port


class _Votes(asyncio.DatagramProtocol):
    """Queues votes; other packets are dropped, as a validator does."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def datagram_received(self, data: bytes, addr: object) -> None:
        with contextlib.suppress(BadTransaction, SignatureFailure, QueueFull):
            if is_vote(read_transaction(data).message):
                self._ledger.submit(data)
