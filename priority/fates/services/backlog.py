"""Entries of the queue that are older than Redis' memory of their signatures, as after an outage
of all landers for many minutes.
"""

import threading
from typing import Any

import msgspec

from priority.models import Submission
from priority.submissions import ACCEPTED_STREAM, FIELD, Accepted, unpack
from shared_state.redis_client import client

# Younger entries are remembered by their signatures (priority.submissions.pending_key).
YOUNGEST_SECONDS = 240
_PAGE = 1_000

_lock = threading.Lock()
# (received_at, key_id) of each signature, and of each bundle's id, in the entries up to this one.
_known: dict[bytes, tuple[float, int | None]] = {}
_read_up_to = ""


def find(wanted: list[bytes]) -> dict[bytes, tuple[float, int | None]]:
    """Of the signatures and bundles' ids, those in an old entry: when it was received, in Unix
    seconds, and by which key. Raises redis.RedisError.
    """
    global _read_up_to
    redis: Any = client()
    newest = f"{(redis.time()[0] - YOUNGEST_SECONDS) * 1_000}-0"
    if not redis.xrange(ACCEPTED_STREAM, max=newest, count=1):
        forget()  # the usual case: landers are at work
        return {}
    with _lock:
        # Only entries that became old since: a long queue is not read again for every call.
        while entries := redis.xrange(
            ACCEPTED_STREAM, f"({_read_up_to}" if _read_up_to else "-", newest, count=_PAGE
        ):
            for name, fields in entries:
                _read_up_to = name.decode()
                try:
                    _remember(unpack(fields[FIELD.encode()]))
                except (KeyError, msgspec.MsgspecError):
                    continue  # the lander logs it
        return {each: _known[each] for each in wanted if each in _known}


def forget() -> None:
    """Drops what was read."""
    global _read_up_to
    with _lock:
        _known.clear()
        _read_up_to = ""


def _remember(accepted: Accepted) -> None:
    if accepted.kind == Submission.Kind.SWEEP:
        return  # without an owner
    names = [*accepted.signatures]
    if accepted.bundle_id:
        names.append(bytes.fromhex(accepted.bundle_id))
    for name in names:
        _known.setdefault(name, (accepted.received_at, accepted.key_id))
