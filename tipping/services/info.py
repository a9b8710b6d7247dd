"""The tipinfo and tipaddress operations."""

import re
from collections.abc import Collection
from datetime import UTC, datetime

import redis
from solders.pubkey import Pubkey

from access.callers import Caller
from chain.rent import rent_exempt
from shared_state.redis_client import client
from tipping.addresses import live_key
from tipping.errors import BadTipQuery
from tipping.results import FetchQuota, NotValid, TipInfo, TtlClass, Valid
from tipping.services import edge_classes, expiries

# The minimum balance of an account without data: smaller tips to a fetched address fail.
MIN_LAMPORTS = rent_exempt(0)
# Reported for a tier without a limit: the largest rate that a tier may have.
_UNLIMITED = 1_000_000

_PUBKEY = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)


def tip_info(caller: Caller, *, max_count: int, edge: str, now: datetime) -> TipInfo:
    """The TTL classes as of now, and the caller's limits. Raises TipAddressesUnavailable."""
    found = edge_classes.read(edge, now=now)
    edge_classes.require_some(found)
    classes = [
        TtlClass(
            edge_class.ttl_seconds,
            issuable := edge_classes.is_issuable(edge_class, now=now),
            edge_class.expires_at if issuable else None,
        )
        for edge_class in found
    ]
    quota = caller.quotas.get("tip_fetches")
    return TipInfo(
        ttl_classes=classes,
        default_ttl_seconds=edge_classes.default_ttl(found),
        max_ttl_seconds=found[-1].ttl_seconds,
        max_count=max_count,
        min_lamports=MIN_LAMPORTS,
        quota=FetchQuota(
            fetch_rate_per_second=float(_UNLIMITED) if quota is None else float(quota.rate),
            fetch_burst=_UNLIMITED if quota is None else quota.burst,
            fetch_daily_cap=caller.tip_fetch_daily_cap,
        ),
        served_by=edge,
    )


def address_validity(text: str, *, static: Collection[bytes], now: datetime) -> Valid | NotValid:
    """Whether the address may be tipped now. Raises BadTipQuery if it is malformed."""
    pubkey = _read(text)
    if pubkey in static:
        return Valid(text, is_static=True, expires_at=None)
    expires_at = _expiry(pubkey)
    if expires_at is None or expires_at <= now:
        return NotValid(text)
    return Valid(text, is_static=False, expires_at=int(expires_at.timestamp()))


def _read(text: str) -> bytes:
    if _PUBKEY.fullmatch(text):
        try:
            return bytes(Pubkey.from_string(text))
        except ValueError:
            pass  # base58 of the right length, but not of 32 bytes
    raise BadTipQuery("the address is not a base58 public key of 32 bytes")


def _expiry(pubkey: bytes) -> datetime | None:
    try:
        known = client().get(live_key(pubkey))
    except redis.RedisError:
        known = None
    if known is not None:
        return datetime.fromtimestamp(int(known), UTC)
    return expiries.expiry_of(pubkey)
