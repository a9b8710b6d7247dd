"""Whom a change of a tier hits: the keys whose calls of the last day exceed the new limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from access import excess_queries, store
from access.callers import ANONYMOUS
from access.models import ApiKey, Tier
from access.months import month_of
from access.services import monthly_quotas

DAY = timedelta(hours=24)
# The names under which the calls of a quota are counted; every call takes from `requests`.
_METHODS: Mapping[str, list[str]] = {
    "requests": [],
    "bundles": ["sendBundle"],
    "tip_fetches": ["fetchtipaddress"],
}
_WORDS = {"requests": "calls", "bundles": "bundles", "tip_fetches": "tip-address fetches"}
# Usage does not say what of these is in use.
_UNSEEN = {
    "stream_connections": "WebSockets at once",
    "stream_subscriptions": "subscriptions of a WebSocket",
    "stream_notifications_per_second": "notifications per second",
    "simulation_jobs": "simulation jobs at once",
    "simulations_per_job": "simulations of a job",
}


@dataclass(slots=True)
class KeyHit:
    """A key (None: callers without one) that the new limits hit: `limits` says which and how,
    `above` are its calls of the last day that they would have refused, `calls` all of that day.
    """

    key: ApiKey | None
    above: int = 0
    calls: int = 0
    limits: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TierImpact:
    """`tightened` has a line for each limit that becomes narrower, `hits` the keys that are hit,
    most calls first, `unseen` the limits for which usage does not show whom they hit.
    """

    tier: Tier
    tightened: Sequence[str]
    hits: Sequence[KeyHit]
    unseen: Sequence[str]

    @property
    def customers(self) -> int:
        return len({hit.key.customer_id for hit in self.hits if hit.key is not None})

    @property
    def keys(self) -> int:
        return sum(hit.key is not None for hit in self.hits)

    @property
    def calls(self) -> int:
        return sum(hit.above for hit in self.hits)


def impact(old: Tier, new: Tier, *, now: datetime) -> TierImpact:
    """What the change from `old` to `new`, the same tier, does to the callers of the last day."""
    hits: dict[int | None, KeyHit] = {}

    def hit(key_id: int | None, above: int, text: str) -> None:
        found = hits.setdefault(key_id, KeyHit(None))
        found.above = max(found.above, above)
        found.limits.append(text)

    tightened = []
    for line, found in _limits(old, new, now):
        tightened.append(line)
        for key_id, above, text in found:
            hit(key_id, above, text)
    named = store.keys_with_customers([key_id for key_id in hits if key_id is not None])
    shown = []
    tier_id = None if old.name == ANONYMOUS else old.pk
    calls = {row[0]: row[2] for row in excess_queries.calls_since(tier_id, now - DAY)}
    for key_id, each in hits.items():
        each.key = None if key_id is None else named.get(key_id)
        each.calls = calls.get(key_id, 0)
        if key_id is None or each.key is not None:
            shown.append(each)
    shown.sort(key=lambda each: (-each.above, each.key.pk if each.key else 0))
    return TierImpact(old, tightened, shown, [*_unseen(old, new)])


# A limit's line, and (key_id, calls above it, text) of each key that it hits.
_Found = tuple[str, list[tuple[int | None, int, str]]]


def _limits(old: Tier, new: Tier, now: datetime) -> Iterator[_Found]:
    yield from _rates(old, new, now)
    tier_id = None if old.name == ANONYMOUS else old.pk
    if _is_less(old.tip_fetches_daily_cap, new.tip_fetches_daily_cap):
        cap = new.tip_fetches_daily_cap or 0
        rows = excess_queries.above_daily_cap(
            tier_id, cap=cap, method="fetchtipaddress", since=(now - DAY).astimezone(UTC).date()
        )
        line = f"tip-address fetches a day: {_amount(old.tip_fetches_daily_cap)} → {cap:,}"
        text = "{above:,} tip-address fetches above the day's cap"
        yield line, [(row[0], row[1], text.format(above=row[1])) for row in rows]
    if tier_id is not None:
        yield from _months(old, new, now)
        if new.rank < old.rank:
            rows = excess_queries.calls_since(tier_id, now - DAY)
            text = f"no longer opens hosts above rank {new.rank}"
            yield f"rank: {old.rank} → {new.rank}", [(row[0], 0, text) for row in rows]


def _rates(old: Tier, new: Tier, now: datetime) -> Iterator[_Found]:
    is_keyless = old.name == ANONYMOUS
    for name, methods in _METHODS.items():
        before, after = (getattr(tier, f"{name}_per_second") for tier in (old, new))
        was, burst = (getattr(tier, f"{name}_burst") for tier in (old, new))
        if after is None or not (_is_less(before, after) or burst < was):
            continue
        line = f"{_WORDS[name]} per second: {_amount(before)}, {was:,} at once"
        line += f" → {_amount(after)}, {burst:,} at once"
        # Requests of callers without a key are limited by address, which usage does not know.
        rows = (
            []
            if is_keyless and name == "requests"
            else excess_queries.above_rate(
                None if is_keyless else old.pk,
                rate=after,
                burst=burst,
                methods=methods,
                since=now - DAY,
            )
        )
        text = f"{{above:,}} {_WORDS[name]} above {_amount(after)} per second"
        yield line, [(row[0], row[1], text.format(above=row[1])) for row in rows]


def _months(old: Tier, new: Tier, now: datetime) -> Iterator[_Found]:
    if _is_less(old.calls_per_month, new.calls_per_month):
        limit = new.calls_per_month or 0
        line = f"calls per month: {_amount(old.calls_per_month)} → {limit:,}"
        keys = store.keys_of_tier_without_limit(old.pk)
        months = monthly_quotas.usages_of(keys, now)
        yield (
            line,
            [
                (each.key_id, 0, f"shut until the month ends: {each.used:,} calls of it are used")
                for each in months
                if each.used >= limit
            ],
        )
    if _is_less(old.stream_bytes_per_month, new.stream_bytes_per_month):
        most = new.stream_bytes_per_month or 0
        rows = excess_queries.above_monthly_bytes(old.pk, limit=most, start=month_of(now)[0].date())
        line = f"bytes of notifications per month: {_amount(old.stream_bytes_per_month)} → {most:,}"
        yield line, [(row[0], 0, f"{row[2]:,} bytes of this month's are used") for row in rows]


def _unseen(old: Tier, new: Tier) -> Iterator[str]:
    for name, words in _UNSEEN.items():
        before, after = getattr(old, name), getattr(new, name)
        if _is_less(before, after):
            yield f"{words}: {_amount(before)} → {_amount(after)}"
    if old.name == ANONYMOUS and (
        _is_less(old.requests_per_second, new.requests_per_second)
        or new.requests_burst < old.requests_burst
    ):
        yield "calls per second of callers without a key, which are counted by address"


def _is_less(before: float | None, after: float | None) -> bool:
    """Whether a limit becomes narrower; None is unlimited."""
    return after is not None and (before is None or after < before)


def _amount(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:,g}" if limit < 1e6 else f"{limit:,.0f}"
