"""Whether an address is ours to be tipped, and until when."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

import redis

from access import script_socket
from access.redis_client import client
from tipping.addresses import kept_until, live_key, live_value
from tipping.store import addresses

log = logging.getLogger(__name__)

# A fetch waits for this, so it goes the short way (access.script_socket).
_SCRIPT = script_socket.Script("""
local written = {}
for i = 1, #KEYS do
  written[i] = redis.call('SET', KEYS[i], ARGV[1], 'EXAT', ARGV[2], 'NX') and 1 or 0
end
return written
""")


def standings(pubkeys: Collection[bytes]) -> dict[bytes, datetime]:
    """The expiry of those that were ever issued, by the database. What is found is told to Redis,
    which may have lost it.
    """
    found = addresses.standings(pubkeys)
    if not found:
        return found
    try:
        with client().pipeline(transaction=False) as pipeline:
            for pubkey, expires_at in found.items():
                pipeline.set(live_key(pubkey), live_value(expires_at), exat=kept_until(expires_at))
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("Redis was not told of %d tip addresses: %s", len(found), error)
    return found


def expiry_of(pubkey: bytes) -> datetime | None:
    """When the address expires or expired; None when it was never issued."""
    return standings([pubkey]).get(pubkey)


def remember(pubkeys: Sequence[bytes], expires_at: datetime) -> list[bytes]:
    """Tells Redis of addresses that were just issued, so that every edge knows them without the
    database; those that Redis knew already. Such a one was issued before, and the database lost
    it: it was restored from a copy. While Redis is away the database alone knows them, which is
    enough.
    """
    words: list[str | int] = [len(pubkeys), *map(live_key, pubkeys)]
    words += [live_value(expires_at), kept_until(expires_at)]
    try:
        written = _SCRIPT.run(*words)
    except script_socket.RedisAway as error:
        log.warning("Redis was not told of %d tip addresses: %s", len(pubkeys), error)
        return []
    return [pubkey for pubkey, is_new in zip(pubkeys, written, strict=True) if not is_new]
