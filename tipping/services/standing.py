"""Whether an address is ours to be tipped, and until when."""

import logging
from collections.abc import Collection, Mapping, Sequence
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
    _write(found)
    return found


def expiry_of(pubkey: bytes) -> datetime | None:
    """When the address expires or expired; None when it was never issued."""
    return standings([pubkey]).get(pubkey)


def remember(pubkeys: Sequence[bytes], expires_at: datetime) -> list[bytes]:
    """Writes addresses that were just issued to Redis, so that every edge knows them without the
    database; those that Redis knew already. Such a one was issued before, and the database lost
    it: it was restored from a copy.
    """
    written = _write(dict.fromkeys(pubkeys, expires_at), only_new=True)
    return [pubkey for pubkey, is_new in zip(pubkeys, written, strict=False) if not is_new]


def _write(found: Mapping[bytes, datetime], *, only_new: bool = False) -> list[bool]:
    """Whether each was written; nothing while Redis is away, when the database alone knows them,
    which is enough.
    """
    if not found:
        return []
    try:
        with client().pipeline(transaction=False) as pipeline:
            for pubkey, expires_at in found.items():
                pipeline.set(
                    live_key(pubkey),
                    live_value(expires_at),
                    exat=kept_until(expires_at),
                    nx=only_new,
                )
            return [bool(each) for each in pipeline.execute()]
    except redis.RedisError as error:
        log.warning("Redis does not know %d tip addresses yet: %s", len(found), error)
        return []
