"""When issued tip addresses expire, in the database and in Redis."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

import redis

from shared_state import script_socket
from shared_state.redis_client import client
from tipping.addresses import kept_until, live_key, live_value
from tipping.store import addresses

log = logging.getLogger(__name__)

# A fetch waits for this, so it uses the faster client (shared_state.script_socket).
_SCRIPT = script_socket.Script("""
local written = {}
for i = 1, #KEYS do
  written[i] = redis.call('SET', KEYS[i], ARGV[1], 'EXAT', ARGV[2], 'NX') and 1 or 0
end
return written
""")


def expiries_of(pubkeys: Collection[bytes]) -> dict[bytes, datetime]:
    """The expiry of each address that was ever issued, from the database. Writes them to Redis too,
    which may have lost them.
    """
    found = addresses.expiries(pubkeys)
    if not found:
        return found
    try:
        with client().pipeline(transaction=False) as pipeline:
            for pubkey, expires_at in found.items():
                pipeline.set(live_key(pubkey), live_value(expires_at), exat=kept_until(expires_at))
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("%d tip addresses could not be written to Redis: %s", len(found), error)
    return found


def expiry_of(pubkey: bytes) -> datetime | None:
    """When the address expires or expired; None if it was never issued."""
    return expiries_of([pubkey]).get(pubkey)


def record_issued(pubkeys: Sequence[bytes], expires_at: datetime) -> list[bytes]:
    """Writes newly issued addresses to Redis, where every edge finds them without the database.
    Returns those that Redis had already: they were issued before, and the database has since been
    restored from a backup. While Redis is down, the database alone is enough.
    """
    arguments: list[str | int] = [len(pubkeys), *map(live_key, pubkeys)]
    arguments += [live_value(expires_at), kept_until(expires_at)]
    try:
        written = _SCRIPT.run(*arguments)
    except script_socket.RedisAway as error:
        log.warning("%d tip addresses could not be written to Redis: %s", len(pubkeys), error)
        return []
    return [pubkey for pubkey, is_new in zip(pubkeys, written, strict=True) if not is_new]
