"""The values cached in an engine process: programs and feature sets are sent to it once.

Only the sending side decides what is cached, so that both sides always agree: each value has a
number, and a job refers to cached values by number and lists the numbers to drop.
"""

from collections import OrderedDict
from typing import NamedTuple, TypeAlias

from solders.account import Account
from solders.litesvm import FeatureSet

from simulator.jobs import Features, Job, New, Packed, Payload, packed

# Shorter data is cheaper to send than to cache.
_SHORTEST = 512
_MOST_BYTES = 32 * 1024 * 1024
# The size of each feature of a cached set.
_FEATURE_BYTES = 64

Value: TypeAlias = Account | FeatureSet


class _Kept(NamedTuple):
    """A cached value; the reference keeps its id from being reused."""

    value: Value
    number: int
    size: int


class SentValues:
    """The values cached in one engine process. Not thread-safe."""

    def __init__(self, *, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._size = 0
        self._next = 0

    def payload(self, job: Job) -> Payload:
        """The job's payload; values in it count as sent."""
        accounts = {
            bytes(key): None if account is None else self._account(account)
            for key, account in job.accounts.items()
        }
        features = None if job.features is None else self._features(job.features)
        dropped = []
        while self._size > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size
            dropped.append(oldest.number)
        return Payload(
            transactions=job.transactions,
            accounts=accounts,
            features=features,
            dropped=dropped,
            slot=job.slot,
            previous_blockhash=job.previous_blockhash,
            blockhashes=job.blockhashes,
            verify=job.verify,
        )

    def _account(self, account: Account) -> int | New[Packed] | Packed:
        number = self._number(account)
        if number is not None:
            return number
        form = packed(account)
        size = len(form[1])
        return form if size < _SHORTEST else New(self._keep(account, size), form)

    def _features(self, features: FeatureSet) -> int | New[Features]:
        number = self._number(features)
        if number is not None:
            return number
        form = {bytes(key): slot for key, slot in features.active.items()}
        return New(self._keep(features, _FEATURE_BYTES * len(form)), form)

    def _number(self, value: Value) -> int | None:
        kept = self._kept.get(id(value))
        if kept is None:
            return None
        self._kept.move_to_end(id(value))
        return kept.number

    def _keep(self, value: Value, size: int) -> int:
        self._next += 1
        self._kept[id(value)] = _Kept(value, self._next, size)
        self._size += size
        return self._next
