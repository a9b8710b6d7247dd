"""Whether an address is ours to be tipped, and until when."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime

import redis

from access.redis_client import client
from tipping.addresses import kept_until, live_key, live_value
from tipping.store import addresses

log = logging.getLogger(__name__)


def standings(pubkeys: Collection[bytes]) -> dict[bytes, datetime]:
    """The expiry of those that were ever issued, by the database. What is found is told to Redis,
    which may have lost it.
    """
    found = addresses.standings(pubkeys)
    remember(found)
    return found


def expiry_of(pubkey: bytes) -> datetime | None:
    """When the address expires or expired; None when it was never issued."""
    return standings([pubkey]).get(pubkey)


def remember(found: Mapping[bytes, datetime]) -> None:
    """Writes the addresses to Redis, so that every edge knows them without the database. While
    Redis is away the database alone knows them, which is enough.
    """
    if not found:
        return
    try:
        with client().pipeline(transaction=False) as pipeline:
            for pubkey, expires_at in found.items():
                pipeline.set(live_key(pubkey), live_value(expires_at), exat=kept_until(expires_at))
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("Redis does not know %d tip addresses yet: %s", len(found), error)
