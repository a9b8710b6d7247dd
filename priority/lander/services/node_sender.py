"""Sends transactions to a node, which forwards them to the leaders."""

from functools import partial
from typing import Any

from priority.lander.services.active_submissions import ActiveSubmission
from priority.lander.services.senders import Delivery, Done
from upstream.submitting import SubmitError, SubmittingNode


class NodeSender:
    """Uses the node's JSON-RPC."""

    def __init__(self, node: SubmittingNode) -> None:
        self._node = node

    def deliveries(self, submission: ActiveSubmission) -> list[Delivery]:
        return [Delivery(self._node.name, partial(self._start, submission.transactions[0].wire))]

    async def warm(self) -> None:
        await self._node.warm()

    async def close(self) -> None:
        await self._node.close()

    def _start(self, wire: bytes, done: Done) -> None:
        def answered(found: Any) -> None:
            done(found if isinstance(found, SubmitError) else "")

        self._node.start(wire, answered)
