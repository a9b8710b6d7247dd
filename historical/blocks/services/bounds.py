"""The ledger's oldest and newest slots, and the error for a slot without a block."""

from chain.units import Slot
from eventloop.faces import complete
from historical.blocks.store import blocks as store
from historical.errors import (
    BlockCleanedUp,
    BlockNotAvailable,
    LedgerEmpty,
    MinContextSlotNotReached,
    SlotMissing,
    SlotSkipped,
)
from jsonrpc.errors import RpcError


async def anewest_slot() -> Slot:
    """The highest stored slot; raises LedgerEmpty."""
    newest = await anewest_slot_or_none()
    if newest is None:
        raise LedgerEmpty
    return newest


def first_available_block() -> Slot:
    """The lowest stored slot; raises LedgerEmpty."""
    bounds = store.bounds()
    if bounds is None:
        raise LedgerEmpty
    return Slot(bounds[0])


def newest_slot_or_none() -> Slot | None:
    """The highest stored slot, None while the ledger is empty."""
    return complete(anewest_slot_or_none())


async def anewest_slot_or_none() -> Slot | None:
    """The same, awaited."""
    bounds = await store.abounds()
    return None if bounds is None else Slot(bounds[1])


def require_context_slot(required: int | None) -> None:
    """Raises MinContextSlotNotReached when the ledger does not reach the slot."""
    complete(arequire_context_slot(required))


async def arequire_context_slot(required: int | None) -> None:
    """The same, awaited."""
    if required is None:
        return
    newest = await anewest_slot_or_none() or Slot(0)
    if newest < required:
        raise MinContextSlotNotReached(newest, Slot(required))


def why_no_block(slot: int) -> RpcError:
    """The refusal for a slot that holds no block: too old, too new, skipped or missing."""
    bounds = store.bounds()
    if bounds is None or slot > bounds[1]:
        return BlockNotAvailable(Slot(slot), None if bounds is None else Slot(bounds[1]))
    if slot < bounds[0]:
        return BlockCleanedUp(Slot(slot), Slot(bounds[0]))
    parent = store.parent_of_next_block(slot)
    if parent is not None and parent < slot:
        return SlotSkipped(Slot(slot))
    return SlotMissing(Slot(slot))
