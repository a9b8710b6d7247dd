"""Issuing tip addresses: each to one caller, once, whatever crashes and whoever races."""

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime

from tipping.errors import BadTipQuery, CountOutOfRange, TipAddressesUnavailable, TtlTooLong
from tipping.ladder import snapped
from tipping.services import batches, rungs, standing
from tipping.store import addresses
from tipping.store.addresses import Rung

log = logging.getLogger(__name__)

# An edge takes so much of a batch into its slice at once, and no fewer addresses than these.
_SLICES = 16
_LEAST_CLAIMED = 16
# How often a fetch looks for another batch when the one it knew had nothing for it.
_TRIES = 3
# A prepared batch opens within the second; a new one must be made first.
_RETRY_SOON, _RETRY_LATER = 1, 5

# One thread takes for all of this process, or each would take a share of its own.
_claiming = threading.Lock()


@dataclass(frozen=True, slots=True)
class Order:
    """What a fetch asks for, checked: the class that it gets, and the TTL that it named."""

    ttl_seconds: int
    requested_ttl_seconds: int
    count: int


@dataclass(frozen=True, slots=True)
class Issued:
    """Addresses that are their holder's alone, and when all of them expire (Unix seconds)."""

    pubkeys: list[bytes]
    expires_at: int


def ordered(*, ttl: int | None, count: int, max_count: int, edge: str, now: datetime) -> Order:
    """The order; the TTL snaps up to the ladder, None is the default class. Raises TtlTooLong,
    BadTipQuery and CountOutOfRange.
    """
    ladder = rungs.rungs(edge, now=now)
    rungs.require_some(ladder)
    wanted = rungs.default_ttl(ladder) if ttl is None else ttl
    place = snapped([rung.ttl_seconds for rung in ladder], wanted)
    if place is None:
        raise TtlTooLong(ladder[-1].ttl_seconds)
    if count < 1:
        raise BadTipQuery(f"count must be at least 1, found {count}", max_count=max_count)
    if count > max_count:
        raise CountOutOfRange(max_count)
    return Order(ladder[place].ttl_seconds, wanted, count)


def fetch(order: Order, *, edge: str, key_id: int | None, now: datetime) -> Issued:
    """Addresses of the class, at least one and as many as asked for where this edge has them: they
    are committed before they are answered, and known to Redis. Raises TipAddressesUnavailable.
    """
    edge_id = rungs.edge_id_of(edge, now=now)
    rung = None
    for _ in range(_TRIES):
        ladder = rungs.rungs(edge, now=now)
        rung = next((each for each in ladder if each.ttl_seconds == order.ttl_seconds), None)
        if rung is None or not rungs.is_issuable(rung, now=now):
            break
        pubkeys = _take(rung, edge_id=edge_id, count=order.count, key_id=key_id or 0, now=now)
        expires_at = datetime.fromtimestamp(rung.expires_at, UTC)
        known = standing.remember(pubkeys, expires_at) if pubkeys else []
        if known:
            log.error(
                "%d tip addresses had been issued before: the database is older than Redis knows,"
                " so the batches of the class of %d s begin anew",
                len(known),
                rung.ttl_seconds,
            )
            batches.renew(rung.ttl_class_id, now=now)
            pubkeys = [pubkey for pubkey in pubkeys if pubkey not in known]
        if pubkeys:
            return Issued(pubkeys, rung.expires_at)
        rungs.stale(edge, ladder)
    if rung is not None and rung.has_next:
        raise TipAddressesUnavailable(
            "the next batch is about to open",
            retry_seconds=_RETRY_SOON,
            ttl_seconds=order.ttl_seconds,
        )
    raise TipAddressesUnavailable(
        "no batch of this class is open", retry_seconds=_RETRY_LATER, ttl_seconds=order.ttl_seconds
    )


def _take(rung: Rung, *, edge_id: int, count: int, key_id: int, now: datetime) -> list[bytes]:
    """Addresses out of the edge's slice, which grows when it has too few."""
    batch = rung.batch_id
    found = addresses.issue(batch, edge_id=edge_id, count=count, key_id=key_id, now=now)
    if len(found) == count:
        return found
    with _claiming:
        missing = count - len(found)  # another thread may have claimed meanwhile
        found += addresses.issue(batch, edge_id=edge_id, count=missing, key_id=key_id, now=now)
        missing = count - len(found)
        share = max(missing, _LEAST_CLAIMED, rung.size // _SLICES)
        if missing and addresses.claim(batch, edge_id=edge_id, count=share):
            found += addresses.issue(batch, edge_id=edge_id, count=missing, key_id=key_id, now=now)
    return found
