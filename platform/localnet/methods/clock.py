"""Methods that only localnet has: its clock, and jumps to later slots."""

from typing import Any

from chain.units import Epoch, Slot, UnixTimestamp
from jsonrpc.params import U64, Config
from localnet.errors import ClockRunsForward
from localnet.methods.table import Node, methods

# The end of the year 9999: what every client's dates can show.
_LAST_SECOND = 253_402_300_799


class ClockConfig(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    unix_timestamp: U64


@methods.add("getClock")
def get_clock(call: Node) -> dict[str, int]:
    """`{slot, epoch, unixTimestamp, offsetSeconds}` of the newest block, and how far the clock is
    ahead of the machine's.
    """
    head = call.ledger.head
    return {
        "epoch": head.epoch,
        "offsetSeconds": call.clock.offset_seconds,
        "slot": head.slot,
        "unixTimestamp": head.block_time,
    }


@methods.add("setClock")
def set_clock(call: Node, config: ClockConfig) -> dict[str, int]:
    """From the next block on the time goes on from the given one; returns what getClock does, as
    it was. -32602 for a time before the newest block, or after the year 9999.
    """
    newest = call.ledger.head.block_time
    if not newest <= config.unix_timestamp <= _LAST_SECOND:
        raise ClockRunsForward(newest, _LAST_SECOND)
    call.clock.set(UnixTimestamp(config.unix_timestamp))
    return get_clock(call)


@methods.add("warpToSlot")
def warp_to_slot(call: Node, slot: U64) -> dict[str, Any]:
    """The chain's next block has this slot, or a later one if that is skipped; those passed over
    are skipped. `{slot, epoch}`. -32602 for a slot that the chain has reached, or above what it
    can have.
    """
    call.ledger.warp_to(Slot(slot))
    return {"epoch": call.ledger.schedule.epoch_of(Slot(slot)), "slot": slot}


@methods.add("warpToEpoch")
def warp_to_epoch(call: Node, epoch: U64) -> dict[str, Any]:
    """As warpToSlot, to the epoch's first slot."""
    return warp_to_slot(call, call.ledger.schedule.first_slot(Epoch(epoch)))
