"""Outcomes of transactions whose slot the live feed missed: from the ledger once it is there."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from solders.signature import Signature

from historical.transactions.services.recorded_transactions import place_of
from historical.transactions.services.transactions import MAX_SIGNATURES, signature_statuses
from shared_state.outages import AWAY

log = logging.getLogger(__name__)

# A slot that was lost to a stream is stored within some seconds, or never.
_LOOKING_SECONDS = 90.0
_PERIOD_SECONDS = 1.0


class StoredOutcomes:
    """`wanted` are the signatures that someone waits for; `found` is called with what
    `outcomes` has of one. On one event loop.
    """

    def __init__(
        self,
        in_thread: Callable[..., Any],
        wanted: Callable[[], Collection[bytes]],
        found: Callable[[bytes, int, Any, int | None], None],
    ) -> None:
        self._in_thread, self._wanted, self._found = in_thread, wanted, found
        self._until = 0.0
        self._something = asyncio.Event()

    def look(self) -> None:
        """Something was missed: looks for what is wanted from now on for a while."""
        self._until = time.monotonic() + _LOOKING_SECONDS
        self._something.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._something.wait()
            self._something.clear()
            while time.monotonic() < self._until:
                await asyncio.sleep(_PERIOD_SECONDS)
                try:
                    await self._look_once()
                except AWAY as error:
                    log.warning("outcomes cannot be looked for: %s", error)

    async def _look_once(self) -> None:
        wanted = list(self._wanted())
        for first in range(0, len(wanted), MAX_SIGNATURES):
            some = wanted[first : first + MAX_SIGNATURES]
            for signature, slot, error, index in await self._in_thread(outcomes, some):
                self._found(signature, slot, error, index)


def outcomes(signatures: list[bytes]) -> list[tuple[bytes, int, Any, int | None]]:
    """Of the stored ones: signature, slot, error as JSON has it, and the index in the block. For
    threads.
    """
    statuses = signature_statuses([Signature(each) for each in signatures])
    return [
        (signature, status.slot, msgspec.json.decode(status.err), _index(signature))
        for signature, status in zip(signatures, statuses, strict=True)
        if status is not None
    ]


def _index(signature: bytes) -> int | None:
    place = place_of(Signature(signature))
    return None if place is None else place[1]
