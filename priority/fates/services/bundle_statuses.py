"""Bundle statuses in a block engine's format."""

from collections.abc import Sequence
from typing import cast

import redis

from priority.chain_events import HEAD
from priority.fates.errors import BundleUnknown
from priority.fates.results import (
    BundleFate,
    InflightBundle,
    InflightBundles,
    LandedBundle,
    LandedBundles,
    SlotContext,
)
from priority.fates.services import lookup
from priority.submissions import State
from rewind.recording.store.slots import bounds
from shared_state.redis_client import client

_STATUSES = {State.RECEIVED: "Pending", State.SENT: "Pending", State.LANDED: "Landed"}
_DEPTHS = ("processed", "confirmed", "finalized")

# A bundle by its id, by a signature, or by all its signatures: what sendBundle answered.
Names = Sequence[str | Sequence[str]]


def landed(names: Names, *, key_id: int | None) -> LandedBundles:
    """Where each bundle landed, in order; None if it has not, or is another customer's. Raises
    BundleIdMalformed and FatesUnavailable.
    """
    return LandedBundles(context=_context(), value=[_landed(name, key_id) for name in names])


def inflight(names: Names, *, key_id: int | None) -> InflightBundles:
    """The status of each, in order; Invalid for another customer's. Raises
    BundleIdMalformed and FatesUnavailable.
    """
    return InflightBundles(context=_context(), value=[_inflight(name, key_id) for name in names])


def _landed(name: str | Sequence[str], key_id: int | None) -> LandedBundle | None:
    fate = _fate(name, key_id)
    if fate is None or fate.state != State.LANDED or fate.slot is None:
        return None
    depths = [_DEPTHS.index(each.commitment or "processed") for each in fate.transactions]
    return LandedBundle(
        bundle_id=_id_as_asked(name, fate),
        transactions=[each.signature for each in fate.transactions],
        slot=fate.slot,
        confirmation_status=_DEPTHS[min(depths, default=0)],
        err={"Ok": None},
    )


def _inflight(name: str | Sequence[str], key_id: int | None) -> InflightBundle:
    fate = _fate(name, key_id)
    if fate is None:
        return InflightBundle(bundle_id=_id_as_asked(name), status="Invalid", landed_slot=None)
    status = _STATUSES.get(State(fate.state), "Failed")
    return InflightBundle(
        bundle_id=_id_as_asked(name, fate),
        status=status,
        landed_slot=fate.slot if status == "Landed" else None,
    )


def _fate(name: str | Sequence[str], key_id: int | None) -> BundleFate | None:
    try:
        return lookup.bundle_fate(name, key_id=key_id, kept_days=0)
    except BundleUnknown:
        return None


def _id_as_asked(name: str | Sequence[str], fate: BundleFate | None = None) -> str:
    """The id that the client looks up in the response: its own name of the bundle, if it is one."""
    if isinstance(name, str):
        return name
    return lookup.named(name).bundle_id if fate is None else fate.bundle_id


def _context() -> SlotContext:
    """The newest slot that is known: the followed chain's, or the archive's."""
    try:
        slot = cast(bytes | None, client().hget(HEAD, "slot"))
    except redis.RedisError:
        slot = None
    if slot is not None:
        return SlotContext(slot=int(slot))
    stored = bounds()
    return SlotContext(slot=0 if stored is None else stored[1])
