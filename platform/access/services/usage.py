"""Usage: moves counters from Redis into the tables, exactly once."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from django.db import transaction

from access import store, usage_sums
from access.usage import LIVE_KEY
from shared_state.redis_client import NAMESPACE, client

CLAIMS_KEY = f"{NAMESPACE}usage:claims"
# A claim's name is kept as long as its counters might come back, as from a restored Redis.
_REMEMBER = timedelta(days=7)

# Renames and records the new name in one step, so that no crash loses a renamed batch.
_CLAIM = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('RENAME', KEYS[1], KEYS[3])
redis.call('SADD', KEYS[2], KEYS[3])
return 1
"""


def roll_up_usage(*, now: datetime) -> int:
    """Moves the counters, and those that an earlier run left, into the tables; the number of rows.

    Runs may overlap and may be killed at any line: the transaction that adds a batch's counts
    stores its name too, and a batch whose name is stored is only deleted.
    """
    redis = client()
    redis.eval(_CLAIM, 3, LIVE_KEY, CLAIMS_KEY, f"{NAMESPACE}usage:claim:{secrets.token_hex(12)}")
    rows = 0
    names = cast(set[bytes], redis.smembers(CLAIMS_KEY))
    for name in sorted(names):
        fields = cast(dict[bytes, bytes], redis.hgetall(name.decode()))
        with transaction.atomic():
            if fields and store.claim(name.decode(), now):
                counts = _counts(fields)
                usage_sums.add_usage(counts)
                store.mark_used(_uses(fields))
                rows += len(counts)
        redis.delete(name)
        redis.srem(CLAIMS_KEY, name)
    store.forget_claims_before(now - _REMEMBER)
    return rows


def _counts(fields: Mapping[bytes, bytes]) -> list[usage_sums.UsageRow]:
    rows: list[usage_sums.UsageRow] = []
    for name, calls in fields.items():
        kind, _, rest = name.decode().partition("|")
        if kind == "calls":
            minute, key_id, method, status = rest.split("|")
            rows.append(
                (
                    int(key_id) if key_id else None,
                    method[:60],
                    status[:60],
                    datetime.fromtimestamp(int(minute) * 60, UTC),
                    int(calls),
                    int(fields.get(b"spent|" + rest.encode(), 0)),
                    int(fields.get(b"bytes|" + rest.encode(), 0)),
                )
            )
    return rows


def _uses(fields: Mapping[bytes, bytes]) -> list[tuple[int, datetime, str | None]]:
    uses: list[tuple[int, datetime, str | None]] = []
    for name, value in fields.items():
        kind, _, key_id = name.decode().partition("|")
        if kind == "used":
            seconds, _, address = value.decode().partition("|")
            uses.append((int(key_id), datetime.fromtimestamp(int(seconds), UTC), address or None))
    return uses
