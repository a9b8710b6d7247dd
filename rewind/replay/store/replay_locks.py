"""One replay at a time of a customer, or of a person of the staff, over all processes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import redis

from shared_state.redis_client import NAMESPACE, client, run_script

# Longer than a replay may take; a process that was killed does not hold the lock for good.
_LONGEST_MS = 120_000
_RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


@contextmanager
def held(holder: str) -> Iterator[bool]:
    """Whether the holder's lock is held until the end of the block. Without Redis it is: the limits
    of calls remain.
    """
    name, token = f"{NAMESPACE}replay:{holder}", uuid4().hex
    try:
        is_held = bool(client().set(name, token, nx=True, px=_LONGEST_MS))
    except redis.RedisError:
        is_held = True
    try:
        yield is_held
    finally:
        if is_held:
            with suppress(redis.RedisError):  # it expires
                run_script(_RELEASE, [name], [token])
