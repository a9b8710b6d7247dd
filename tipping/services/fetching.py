"""Issuing tip addresses, each to one caller only."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tipping.errors import BadTipQuery, CountOutOfRange, TipAddressesUnavailable, TtlTooLong
from tipping.services import batches, edge_classes, expiries
from tipping.store import addresses
from tipping.store.addresses import EdgeClass

log = logging.getLogger(__name__)

# An edge claims this share of a batch at once, and at least this many addresses.
_SLICES = 16
_LEAST_CLAIMED = 16
# How often a fetch retries with a newer batch when the cached one has no addresses left.
_TRIES = 3
# A prepared batch opens within a second; a new one must be made first.
_RETRY_SOON, _RETRY_LATER = 1, 5

# One thread claims for the whole process, else each would claim a share of its own.
_claiming = threading.Lock()


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A checked fetch: the TTL of its class, and the TTL that was requested."""

    ttl_seconds: int
    requested_ttl_seconds: int
    count: int


@dataclass(frozen=True, slots=True)
class Issued:
    """Addresses issued to one caller, and when all of them expire (Unix seconds)."""

    pubkeys: list[bytes]
    expires_at: int


def check_request(
    *, ttl: int | None, count: int, max_count: int, edge: str, now: datetime
) -> FetchRequest:
    """The request with its TTL class: the shortest that is long enough, or the default class for
    None. Raises TtlTooLong, BadTipQuery and CountOutOfRange.
    """
    classes = edge_classes.read(edge, now=now)
    edge_classes.require_some(classes)
    wanted = edge_classes.default_ttl(classes) if ttl is None else ttl
    index = smallest_fitting([each.ttl_seconds for each in classes], wanted)
    if index is None:
        raise TtlTooLong(classes[-1].ttl_seconds)
    if count < 1:
        raise BadTipQuery(f"count must be at least 1, found {count}", max_count=max_count)
    if count > max_count:
        raise CountOutOfRange(max_count)
    return FetchRequest(classes[index].ttl_seconds, wanted, count)


def smallest_fitting(ttls: Sequence[int], ttl: int) -> int | None:
    """The index of the smallest of the ascending TTLs that is at least `ttl`; None if all are
    smaller.
    """
    return next((index for index, each in enumerate(ttls) if each >= ttl), None)


def fetch(request: FetchRequest, *, edge: str, key_id: int | None, now: datetime) -> Issued:
    """At least one address of the class, and up to `count` if this edge has them. They are
    committed to the database and recorded in Redis. Raises TipAddressesUnavailable.
    """
    edge_id = edge_classes.edge_id_of(edge, now=now)
    edge_class = None
    for _ in range(_TRIES):
        classes = edge_classes.read(edge, now=now)
        edge_class = next(
            (each for each in classes if each.ttl_seconds == request.ttl_seconds), None
        )
        if edge_class is None or not edge_classes.is_issuable(edge_class, now=now):
            break
        pubkeys = _take(
            edge_class, edge_id=edge_id, count=request.count, key_id=key_id or 0, now=now
        )
        expires_at = datetime.fromtimestamp(edge_class.expires_at, UTC)
        known = expiries.record_issued(pubkeys, expires_at) if pubkeys else []
        if known:
            log.error(
                "%d tip addresses had been issued before: the database is older than Redis,"
                " so the batches of the class of %d s are renewed",
                len(known),
                edge_class.ttl_seconds,
            )
            batches.renew(edge_class.ttl_class_id, now=now)
            pubkeys = [pubkey for pubkey in pubkeys if pubkey not in known]
        if pubkeys:
            return Issued(pubkeys, edge_class.expires_at)
        edge_classes.stale(edge, classes)
    if edge_class is not None and edge_class.has_next:
        raise TipAddressesUnavailable(
            "the next batch is about to open",
            retry_seconds=_RETRY_SOON,
            ttl_seconds=request.ttl_seconds,
        )
    raise TipAddressesUnavailable(
        "no batch of this class is open",
        retry_seconds=_RETRY_LATER,
        ttl_seconds=request.ttl_seconds,
    )


def _take(
    edge_class: EdgeClass, *, edge_id: int, count: int, key_id: int, now: datetime
) -> list[bytes]:
    """Addresses from the edge's slice, which is extended when it has too few."""
    batch = edge_class.batch_id
    found = addresses.issue(batch, edge_id=edge_id, count=count, key_id=key_id, now=now)
    if len(found) == count:
        return found
    with _claiming:
        missing = count - len(found)  # another thread may have claimed meanwhile
        found += addresses.issue(batch, edge_id=edge_id, count=missing, key_id=key_id, now=now)
        missing = count - len(found)
        share = max(missing, _LEAST_CLAIMED, edge_class.size // _SLICES)
        if missing and addresses.claim(batch, edge_id=edge_id, count=share):
            found += addresses.issue(batch, edge_id=edge_id, count=missing, key_id=key_id, now=now)
    return found
