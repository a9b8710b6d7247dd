"""Transactions to a node, which passes them on to the leaders it knows."""

from priority.services.landing.flights import Flight
from priority.services.landing.senders import Delivery
from upstream.submitting import SubmittingNode


class NodeSender:
    """By the node's JSON-RPC."""

    def __init__(self, node: SubmittingNode) -> None:
        self._node = node

    def deliveries(self, flight: Flight) -> list[Delivery]:
        return [Delivery(self._node.name, self._send(flight.parts[0].wire))]

    async def warm(self) -> None:
        await self._node.warm()

    async def close(self) -> None:
        await self._node.close()

    async def _send(self, wire: bytes) -> str:
        await self._node.send(wire)
        return ""
